// Chunked transfer coding, decoded strictly from bytes that arrive in any pieces. Keeps no buffer:
// only a few counters live between pieces. Pure; used by both sides and fuzzed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::net {

class chunk_decoder {
public:
    // Appends the body bytes found in `in` to `out`; returns how many bytes of `in` belonged to the
    // message. Less than all of them only when done() or failed().
    std::size_t feed(std::string_view in, std::string& out);
    bool done() const { return at_ == place::done; }
    bool failed() const { return at_ == place::failed; }
    // What the present chunk announced and has not delivered yet.
    std::uint64_t owed() const { return left_; }

private:
    enum class place : std::uint8_t {
        size,
        extension,
        size_lf,
        data,
        data_cr,
        data_lf,
        trailer_start,
        trailer,
        trailer_lf,
        end_lf,
        done,
        failed,
    };
    void step(char c);
    void on_size(char c);
    void on_trailer(char c);

    std::uint64_t left_ = 0;
    std::uint32_t line_ = 0; // bytes of the present size line, or of all trailers
    place at_ = place::size;
};

} // namespace sluice::net
