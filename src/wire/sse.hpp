// Server-sent events after WHATWG HTML §9.2, both ways. The decoder takes bytes in any split and
// gives whole events; data bytes are not checked (the JSON scan does that).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::wire {

struct sse_event {
    std::string id = {};    // this event's own id field, not the last one seen
    std::string event = {}; // empty stands for "message"
    std::string data = {};
    bool has_id = false; // an empty id is an id
    std::optional<std::uint32_t> retry_ms = {};

    bool operator==(const sse_event&) const = default;
};

class sse_decoder {
public:
    explicit sse_decoder(std::size_t max_event_bytes) : max_(max_event_bytes) {}

    void feed(std::string_view bytes);
    // The next whole event, if there is one. Unlike a browser's, an event without data is reported
    // when it carries an id or a retry (priming). An event cut off by the end of input never is.
    std::optional<sse_event> next();
    // An event or line over the limit was met: nothing more will come, close the stream.
    bool too_big() const { return too_big_; }
    // Bytes kept for what has not been given out yet.
    std::size_t held() const { return buffer_.size() - start_ + pending_.data.size(); }

private:
    bool drop_mark();
    std::optional<std::string_view> next_line();
    void take_field(std::string_view line);
    std::optional<sse_event> finish();
    void give_up();
    void let_go();

    std::size_t max_;
    std::string buffer_;
    std::size_t start_ = 0;   // of the line being read
    std::size_t scanned_ = 0; // no line end before this
    sse_event pending_;
    bool has_data_ = false;
    bool after_cr_ = false; // an LF that comes next belongs to that CR
    bool at_start_ = true;  // a byte order mark may still come
    bool too_big_ = false;
};

// One event as text, blank line included. Line ends in `data` make several data lines.
std::string encode(const sse_event& event);

// A comment: what keeps a quiet stream alive.
std::string comment(std::string_view text);

} // namespace sluice::wire
