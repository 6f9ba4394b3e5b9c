// A second opinion on JSON for the differential fuzzing: RFC 8259's grammar, rule by rule, over
// decoded code points. Slow and plain on purpose, and shares nothing with src/wire.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace oracle {

// The text's code points, or nothing when it is not UTF-8.
inline std::optional<std::vector<std::uint32_t>> decode_utf8(std::string_view text) {
    std::vector<std::uint32_t> out;
    for (std::size_t i = 0; i < text.size();) {
        const auto at = [&](std::size_t k) -> std::uint32_t {
            return k < text.size() ? static_cast<unsigned char>(text[k]) : 0;
        };
        std::uint32_t c = at(i++);
        int tails = 0;
        std::uint32_t least = 0;
        if (c < 0x80) {
        } else if (c >> 5 == 6) {
            c &= 0x1F, tails = 1, least = 0x80;
        } else if (c >> 4 == 14) {
            c &= 0x0F, tails = 2, least = 0x800;
        } else if (c >> 3 == 30) {
            c &= 0x07, tails = 3, least = 0x10000;
        } else {
            return std::nullopt;
        }
        for (; tails > 0; --tails) {
            const std::uint32_t tail = at(i++);
            if (tail >> 6 != 2) return std::nullopt;
            c = c << 6 | (tail & 0x3F);
        }
        if (c < least || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) return std::nullopt;
        out.push_back(c);
    }
    return out;
}

class grammar {
public:
    grammar(std::vector<std::uint32_t> text, std::size_t max_depth)
        : text_(std::move(text)), max_depth_(max_depth) {}

    bool json_text() { return ws() && value(0) && ws() && at_ == text_.size(); }

private:
    std::uint32_t peek() const { return at_ < text_.size() ? text_[at_] : 0xFFFFFFFF; }
    bool take(std::uint32_t c) { return peek() == c && ++at_ > 0; }
    bool word(std::string_view w) {
        for (char c : w)
            if (!take(static_cast<unsigned char>(c))) return false;
        return true;
    }
    bool ws() {
        while (take(0x20) || take(0x09) || take(0x0A) || take(0x0D)) {
        }
        return true;
    }
    bool digits() {
        bool any = false;
        while (peek() >= '0' && peek() <= '9')
            any = take(peek());
        return any;
    }
    bool value(std::size_t depth) {
        if (peek() == '{' || peek() == '[') {
            if (depth + 1 > max_depth_) return false;
            return peek() == '{' ? object(depth + 1) : array(depth + 1);
        }
        if (peek() == '"') return string();
        if (peek() == 't') return word("true");
        if (peek() == 'f') return word("false");
        if (peek() == 'n') return word("null");
        return number();
    }
    bool object(std::size_t depth) {
        if (!take('{') || !ws()) return false;
        if (take('}')) return true;
        do {
            if (!ws() || !string() || !ws() || !take(':') || !ws() || !value(depth) || !ws())
                return false;
        } while (take(','));
        return take('}');
    }
    bool array(std::size_t depth) {
        if (!take('[') || !ws()) return false;
        if (take(']')) return true;
        do {
            if (!ws() || !value(depth) || !ws()) return false;
        } while (take(','));
        return take(']');
    }
    bool number() {
        take('-');
        if (!take('0') && !(peek() >= '1' && peek() <= '9' && digits())) return false;
        if (take('.') && !digits()) return false;
        if (take('e') || take('E')) {
            if (!take('+')) take('-');
            return digits();
        }
        return true;
    }
    bool hex() {
        const std::uint32_t c = peek();
        const bool is = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f');
        return is && take(c);
    }
    bool string() {
        if (!take('"')) return false;
        while (!take('"')) {
            const std::uint32_t c = peek();
            if (c == 0xFFFFFFFF || c < 0x20) return false;
            ++at_;
            if (c != '\\') continue;
            if (take('u')) {
                if (!(hex() && hex() && hex() && hex())) return false;
            } else {
                const bool known = take('"') || take('\\') || take('/') || take('b') || take('f') ||
                                   take('n') || take('r') || take('t');
                if (!known) return false;
            }
        }
        return true;
    }

    std::vector<std::uint32_t> text_;
    std::size_t max_depth_;
    std::size_t at_ = 0;
};

inline bool accepts(std::string_view text, std::size_t max_depth) {
    auto points = decode_utf8(text);
    return points && grammar(*std::move(points), max_depth).json_text();
}

} // namespace oracle
