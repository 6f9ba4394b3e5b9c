#include "wire/sse.hpp"

#include "wire/bytes.hpp"

#include <algorithm>
#include <limits>

namespace sluice::wire {

namespace {

constexpr std::size_t worth_giving_back = 64 * 1024;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

std::optional<std::uint32_t> parse_retry(std::string_view digits) {
    if (digits.empty()) return std::nullopt;
    std::uint64_t n = 0;
    for (char c : digits) {
        if (c < '0' || c > '9') return std::nullopt;
        n = std::min<std::uint64_t>(
            n * 10 + static_cast<unsigned>(c - '0'), std::numeric_limits<std::uint32_t>::max()
        );
    }
    return static_cast<std::uint32_t>(n);
}

// A field's value must stay on its line.
std::string one_line(std::string_view text) {
    std::string out(text);
    std::erase_if(out, [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
    return out;
}

void append_data(std::string& out, std::string_view data) {
    const char* p = data.data();
    const char* end = p + data.size();
    for (;;) {
        const char* line_end = bytes::find_line_end(p, end);
        out.append("data: ").append(p, line_end).append("\n");
        if (line_end == end) return;
        const bool pair = *line_end == '\r' && line_end + 1 != end && line_end[1] == '\n';
        p = line_end + (pair ? 2 : 1);
    }
}

} // namespace

void sse_decoder::feed(std::string_view bytes) {
    if (too_big_) return;
    if (start_ != 0) {
        buffer_.erase(0, start_);
        scanned_ -= start_;
        start_ = 0;
    }
    buffer_.append(bytes);
}

// After a large event its memory is given back: a stream may stand for days.
void sse_decoder::let_go() {
    if (start_ < worth_giving_back) return;
    buffer_ = buffer_.substr(start_);
    scanned_ -= start_;
    start_ = 0;
}

std::optional<sse_event> sse_decoder::next() {
    if (too_big_ || !drop_mark()) return std::nullopt;
    while (auto line = next_line()) {
        if (line->empty()) {
            auto event = finish();
            let_go();
            if (event) return event;
        } else {
            take_field(*line);
        }
        const std::size_t size = pending_.data.size() + pending_.id.size() + pending_.event.size();
        if (size > max_) {
            give_up();
            return std::nullopt;
        }
    }
    return std::nullopt;
}

// False while the first bytes may still become a byte order mark.
bool sse_decoder::drop_mark() {
    if (!at_start_) return true;
    const std::string_view head = std::string_view(buffer_).substr(0, byte_order_mark.size());
    if (head.size() < byte_order_mark.size() && byte_order_mark.starts_with(head)) return false;
    at_start_ = false;
    if (head == byte_order_mark) start_ = scanned_ = byte_order_mark.size();
    return true;
}

std::optional<std::string_view> sse_decoder::next_line() {
    if (after_cr_ && start_ < buffer_.size()) {
        if (buffer_[start_] == '\n') ++start_;
        scanned_ = std::max(scanned_, start_);
        after_cr_ = false;
    }
    const char* stop = buffer_.data() + buffer_.size();
    const char* found = bytes::find_line_end(buffer_.data() + scanned_, stop);
    const auto end = static_cast<std::size_t>(found - buffer_.data());
    if (found == stop) {
        scanned_ = buffer_.size();
        if (scanned_ - start_ > max_) give_up();
        return std::nullopt;
    }
    const std::string_view line(buffer_.data() + start_, end - start_);
    if (line.size() > max_) {
        give_up();
        return std::nullopt;
    }
    after_cr_ = buffer_[end] == '\r';
    start_ = scanned_ = end + 1;
    return line;
}

void sse_decoder::take_field(std::string_view line) {
    const std::size_t colon = line.find(':');
    if (colon == 0) return; // a comment
    const std::string_view name = line.substr(0, colon);
    std::string_view value;
    if (colon != std::string_view::npos) value = line.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    if (name == "data") {
        if (has_data_) pending_.data += '\n';
        pending_.data.append(value);
        has_data_ = true;
    } else if (name == "event") {
        pending_.event = value;
    } else if (name == "id") {
        if (value.find('\0') != std::string_view::npos) return;
        pending_.id = value;
        pending_.has_id = true;
    } else if (name == "retry") {
        if (auto retry = parse_retry(value)) pending_.retry_ms = retry;
    }
}

std::optional<sse_event> sse_decoder::finish() {
    sse_event event = std::move(pending_);
    pending_ = {};
    const bool worth_it = has_data_ || event.has_id || event.retry_ms;
    has_data_ = false;
    if (!worth_it) return std::nullopt;
    return event;
}

void sse_decoder::give_up() {
    too_big_ = true;
    buffer_ = {};
    pending_ = {};
    start_ = scanned_ = 0;
}

std::string encode(const sse_event& event) {
    std::string out;
    out.reserve(event.data.size() + event.id.size() + event.event.size() + 48);
    if (event.has_id) out.append("id: ").append(one_line(event.id)).append("\n");
    if (!event.event.empty()) out.append("event: ").append(one_line(event.event)).append("\n");
    if (event.retry_ms) out.append("retry: ").append(std::to_string(*event.retry_ms)).append("\n");
    // A retry of its own needs no data; everything else does, or browsers pass it over.
    if (!event.data.empty() || event.has_id || !event.retry_ms) {
        append_data(out, event.data);
    }
    out += '\n';
    return out;
}

std::string comment(std::string_view text) {
    return ": " + one_line(text) + "\n\n";
}

} // namespace sluice::wire
