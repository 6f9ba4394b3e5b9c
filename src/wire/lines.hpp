// Newline-delimited messages (stdio transport): bytes in any split, whole lines out.
// CRLF is taken as LF, empty lines are skipped, a line over the limit ends the stream.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::wire {

class line_splitter {
public:
    explicit line_splitter(std::size_t max_line_bytes) : max_(max_line_bytes) {}

    void feed(std::string_view bytes);
    std::optional<std::string> next(); // without its line end
    bool too_big() const { return too_big_; }
    // What has come of the line that is not whole yet.
    std::string_view beginning() const { return std::string_view(buffer_).substr(start_); }
    // Drops that line, also what is still to come of it; the ones behind it are given out.
    void skip();

private:
    void give_up();
    std::string give_out(std::string_view line);

    std::size_t max_;
    std::string buffer_;
    std::size_t start_ = 0;
    std::size_t scanned_ = 0;
    bool too_big_ = false;
    bool skipping_ = false;
};

} // namespace sluice::wire
