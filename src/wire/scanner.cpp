#include "wire/scanner.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace sluice::wire {

namespace {

constexpr const char* too_deep = "nested more deeply than ";

// The scan recurses once per level; this many frames fit any stack we run on.
constexpr std::size_t deepest = 1024;

bool is_hex(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

} // namespace

scanner::scanner(std::string_view text, json_limits limits)
    : begin_(text.data()), cursor_(text.data()), end_(text.data() + text.size()),
      max_depth_(std::min(limits.max_depth, deepest)) {}

bool scanner::fail(const char* reason) {
    if (reason_ == nullptr) reason_ = reason;
    return false;
}

base::fault scanner::fault() const {
    std::string text = "invalid JSON at byte " + std::to_string(cursor_ - begin_) + ": ";
    text += reason_ != nullptr ? reason_ : "unknown";
    if (reason_ == too_deep) text += std::to_string(max_depth_) + " levels";
    return {base::errc::parse_error, std::move(text)};
}

bool scanner::enter() {
    if (depth_ == max_depth_) return fail(too_deep);
    ++depth_;
    ++cursor_;
    return true;
}

bool scanner::value() {
    if (at_end()) return fail("unexpected end");
    switch (*cursor_) {
    case '{':
        return object([this](std::string_view) { return value(); });
    case '[':
        return array();
    case '"':
        return string();
    case 't':
        return literal("true");
    case 'f':
        return literal("false");
    case 'n':
        return literal("null");
    default:
        return number();
    }
}

bool scanner::array() {
    if (!enter()) return false;
    space();
    if (!at(']')) {
        for (;;) {
            if (!value()) return false;
            space();
            if (at(']')) break;
            if (!at(',')) return fail("expected ',' or ']'");
            ++cursor_;
            space();
        }
    }
    ++cursor_;
    --depth_;
    return true;
}

bool scanner::literal(std::string_view word) {
    if (static_cast<std::size_t>(end_ - cursor_) < word.size() ||
        std::memcmp(cursor_, word.data(), word.size()) != 0)
        return fail("unknown literal");
    cursor_ += word.size();
    return true;
}

bool scanner::number() {
    const char* p = cursor_;
    if (p != end_ && *p == '-') ++p;
    if (p == end_ || !bytes::has(*p, bytes::is_digit)) return fail("expected a value");
    p = *p == '0' ? p + 1 : bytes::skip_digits(p, end_);
    if (p != end_ && *p == '.') {
        const char* digits = ++p;
        p = bytes::skip_digits(p, end_);
        if (p == digits) return fail("a fraction needs digits");
    }
    if (p != end_ && (*p == 'e' || *p == 'E')) {
        ++p;
        if (p != end_ && (*p == '+' || *p == '-')) ++p;
        const char* digits = p;
        p = bytes::skip_digits(p, end_);
        if (p == digits) return fail("an exponent needs digits");
    }
    cursor_ = p;
    return true;
}

bool scanner::string() {
    ++cursor_;
    for (;;) {
        cursor_ = bytes::skip_plain(cursor_, end_);
        if (cursor_ == end_) return fail("string without end");
        const char c = *cursor_;
        if (c == '"') {
            ++cursor_;
            return true;
        }
        if (c == '\\') {
            if (!escape()) return false;
        } else if (static_cast<unsigned char>(c) >= 0x80) {
            // Runs of other scripts stay in this loop.
            do {
                const std::ptrdiff_t length = bytes::utf8_length(cursor_, end_);
                if (length == 0) return fail("invalid UTF-8");
                cursor_ += length;
            } while (cursor_ != end_ && static_cast<unsigned char>(*cursor_) >= 0x80);
        } else {
            return fail("control character in a string");
        }
    }
}

bool scanner::escape() {
    if (end_ - cursor_ < 2) return fail("string without end");
    switch (cursor_[1]) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
        cursor_ += 2;
        return true;
    case 'u':
        break;
    default:
        return fail("unknown escape");
    }
    if (end_ - cursor_ < 6 || !std::all_of(cursor_ + 2, cursor_ + 6, is_hex))
        return fail("\\u needs four hex digits");
    cursor_ += 6;
    return true;
}

} // namespace sluice::wire
