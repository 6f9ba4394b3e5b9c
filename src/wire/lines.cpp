#include "wire/lines.hpp"

namespace sluice::wire {

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
            scanned_ = buffer_.size();
            if (scanned_ - start_ > max_) give_up();
            return std::nullopt;
        }
        std::string_view line(buffer_.data() + start_, end - start_);
        if (line.ends_with('\r')) line.remove_suffix(1);
        start_ = scanned_ = end + 1;
        if (line.size() > max_) {
            give_up();
        } else if (!line.empty()) {
            return std::string(line);
        }
    }
    return std::nullopt;
}

std::string line_splitter::rest() {
    std::string out = buffer_.substr(start_);
    buffer_.clear();
    start_ = scanned_ = 0;
    if (out.ends_with('\r')) out.pop_back();
    return out;
}

void line_splitter::give_up() {
    too_big_ = true;
    buffer_ = {};
    start_ = scanned_ = 0;
}

} // namespace sluice::wire
