// String literals to text and back: json.hpp's unescape and quote.
#include "wire/bytes.hpp"
#include "wire/json.hpp"

namespace sluice::wire {

namespace {

unsigned hex_digit(char c) {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    return (static_cast<unsigned>(c) | 0x20U) - 'a' + 10U;
}

// The code unit of the \uXXXX at p.
unsigned code_unit(const char* p) {
    return hex_digit(p[2]) << 12U | hex_digit(p[3]) << 8U | hex_digit(p[4]) << 4U | hex_digit(p[5]);
}

bool is_unit_escape(const char* p, const char* end) {
    return end - p >= 6 && p[0] == '\\' && p[1] == 'u';
}

// Surrogates pass through as three bytes (WTF-8).
void append_code_point(std::string& out, unsigned c) {
    const auto tail = [&](unsigned shift) {
        out += static_cast<char>(0x80U | ((c >> shift) & 0x3FU));
    };
    if (c < 0x80) {
        out += static_cast<char>(c);
    } else if (c < 0x800) {
        out += static_cast<char>(0xC0U | c >> 6U);
        tail(0);
    } else if (c < 0x10000) {
        out += static_cast<char>(0xE0U | c >> 12U);
        tail(6);
        tail(0);
    } else {
        out += static_cast<char>(0xF0U | c >> 18U);
        tail(12);
        tail(6);
        tail(0);
    }
}

const char* append_unit_escape(std::string& out, const char* p, const char* end) {
    unsigned c = code_unit(p);
    p += 6;
    if (c >= 0xD800 && c < 0xDC00 && is_unit_escape(p, end)) {
        const unsigned low = code_unit(p);
        if (low >= 0xDC00 && low < 0xE000) {
            c = 0x10000U + ((c - 0xD800U) << 10U) + (low - 0xDC00U);
            p += 6;
        }
    }
    append_code_point(out, c);
    return p;
}

char short_escape(char letter) {
    switch (letter) {
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return letter;
    }
}

void append_unit(std::string& out, unsigned unit) {
    static constexpr char digits[] = "0123456789abcdef";
    out += "\\u";
    for (unsigned shift : {12U, 8U, 4U, 0U})
        out += digits[unit >> shift & 0xFU];
}

void append_escaped(std::string& out, char c) {
    switch (c) {
    case '"':
        out += "\\\"";
        return;
    case '\\':
        out += "\\\\";
        return;
    case '\b':
        out += "\\b";
        return;
    case '\f':
        out += "\\f";
        return;
    case '\n':
        out += "\\n";
        return;
    case '\r':
        out += "\\r";
        return;
    case '\t':
        out += "\\t";
        return;
    default:
        append_unit(out, static_cast<unsigned char>(c));
        return;
    }
}

// What no JSON text may hold as it is: lone surrogates (WTF-8) go back to their escapes, bytes that
// are not UTF-8 become U+FFFD.
const char* append_beyond_ascii(std::string& out, const char* p, const char* end) {
    const std::ptrdiff_t length = bytes::utf8_length(p, end);
    if (length != 0) {
        out.append(p, p + length);
        return p + length;
    }
    const auto byte = [p](int i) {
        return static_cast<unsigned>(static_cast<unsigned char>(p[i]));
    };
    const bool surrogate = end - p >= 3 && byte(0) == 0xED && byte(1) >= 0xA0 && byte(1) <= 0xBF &&
                           (byte(2) & 0xC0U) == 0x80U;
    if (!surrogate) {
        append_unit(out, 0xFFFD);
        return p + 1;
    }
    append_unit(out, 0xD000U | (byte(1) & 0x3FU) << 6U | (byte(2) & 0x3FU));
    return p + 3;
}

} // namespace

std::string unescape(std::string_view json_string) {
    std::string out;
    if (json_string.size() < 2) return out;
    const char* p = json_string.data() + 1;
    const char* end = json_string.data() + json_string.size() - 1;
    out.reserve(static_cast<std::size_t>(end - p));
    while (p != end) {
        const char* run = p;
        p = bytes::find_quote(p, end);
        out.append(run, p);
        if (end - p < 2) break;
        if (is_unit_escape(p, end)) {
            p = append_unit_escape(out, p, end);
        } else {
            out += short_escape(p[1]);
            p += 2;
        }
    }
    return out;
}

std::string quote(std::string_view utf8) {
    std::string out;
    out.reserve(utf8.size() + 2);
    out += '"';
    const char* end = utf8.data() + utf8.size();
    for (const char* p = utf8.data(); p != end;) {
        const char* run = p;
        p = bytes::skip_plain(p, end);
        out.append(run, p);
        if (p == end) break;
        if (static_cast<unsigned char>(*p) >= 0x80) {
            p = append_beyond_ascii(out, p, end);
        } else {
            append_escaped(out, *p++);
        }
    }
    out += '"';
    return out;
}

} // namespace sluice::wire
