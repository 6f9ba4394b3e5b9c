#include "wire/lines.hpp"

namespace sluice::wire {

namespace {

constexpr std::size_t worth_giving_back = 64 * 1024;

} // namespace

void line_splitter::feed(std::string_view bytes) {
    if (too_big_) return;
    if (start_ != 0) {
        buffer_.erase(0, start_);
        scanned_ -= start_;
        start_ = 0;
    }
    buffer_.append(bytes);
}

std::optional<std::string> line_splitter::next() {
    while (!too_big_) {
        const std::size_t end = buffer_.find('\n', scanned_);
        if (end == std::string::npos) {
            if (skipping_) skip();
            scanned_ = buffer_.size();
            if (scanned_ - start_ > max_) give_up();
            return std::nullopt;
        }
        std::string_view line(buffer_.data() + start_, end - start_);
        if (skipping_) {
            skipping_ = false;
            start_ = scanned_ = end + 1;
            continue;
        }
        if (line.ends_with('\r')) line.remove_suffix(1);
        start_ = scanned_ = end + 1;
        if (line.size() > max_) {
            give_up();
        } else if (!line.empty()) {
            return give_out(line);
        }
    }
    return std::nullopt;
}

// After a large line its memory is given back: a pipe may stand for days.
std::string line_splitter::give_out(std::string_view line) {
    std::string out(line);
    if (start_ < worth_giving_back) return out;
    buffer_ = buffer_.substr(start_);
    start_ = scanned_ = 0;
    return out;
}

void line_splitter::skip() {
    skipping_ = true;
    buffer_ = {};
    start_ = scanned_ = 0;
}

void line_splitter::give_up() {
    too_big_ = true;
    buffer_ = {};
    start_ = scanned_ = 0;
}

} // namespace sluice::wire
