#include "base/text.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <numeric>

namespace sluice::base {

namespace {

char low(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

constexpr std::string_view plain64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view url64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string encode64(std::string_view bytes, std::string_view alphabet) {
    std::string out;
    out.reserve((bytes.size() + 2) / 3 * 4);
    std::uint32_t bits = 0;
    int have = 0;
    for (unsigned char c : bytes) {
        bits = bits << 8 | c;
        have += 8;
        while (have >= 6) {
            have -= 6;
            out += alphabet[bits >> have & 63U];
        }
    }
    if (have > 0) out += alphabet[bits << (6 - have) & 63U];
    return out;
}

// Insert, delete, replace, or swap two neighbours ("alais" is one step from "alias").
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), 0U);
    for (std::size_t i = 1; i <= a.size(); ++i) {
        auto last = row;
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            std::size_t step = a[i - 1] == b[j - 1] ? 0U : 1U;
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + step});
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
        }
        before = std::move(last);
    }
    return row[b.size()];
}

} // namespace

bool iequals(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
        int apart = a[i] ^ b[i];
        if (apart == 0) continue;
        int small = a[i] | 0x20; // a letter and its capital differ in this bit alone
        if (apart != 0x20 || small < 'a' || small > 'z') return false;
    }
    return true;
}

std::string lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), low);
    return out;
}

std::string_view trim(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
        text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
        text.remove_suffix(1);
    return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        auto at = text.find(separator);
        parts.push_back(text.substr(0, at));
        if (at == std::string_view::npos) return parts;
        text.remove_prefix(at + 1);
    }
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
    std::string out;
    for (const auto& part : parts) {
        if (&part != parts.data()) out += separator;
        out += part;
    }
    return out;
}

std::string clip(std::string_view text, std::size_t limit) {
    if (text.size() <= limit) return std::string(text);
    while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0U) == 0x80U)
        --limit;
    return std::string(text.substr(0, limit)) + "…";
}

std::string hex(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out;
    out.reserve(bytes.size() * 2);
    for (unsigned char c : bytes) {
        out += digits[c >> 4U];
        out += digits[c & 15U];
    }
    return out;
}

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

std::optional<std::string> percent_decode(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += text[i];
            continue;
        }
        if (text.size() - i < 3) return std::nullopt;
        int high = hex_digit(text[i + 1]);
        int low = hex_digit(text[i + 2]);
        if (high < 0 || low < 0) return std::nullopt;
        out += static_cast<char>(high * 16 + low);
        i += 2;
    }
    return out;
}

std::string base64(std::string_view bytes) {
    std::string out = encode64(bytes, plain64);
    out.append((4 - out.size() % 4) % 4, '=');
    return out;
}

std::string base64url(std::string_view bytes) {
    return encode64(bytes, url64);
}

std::optional<std::string> from_base64url(std::string_view text) {
    if (text.size() % 4 == 1) return std::nullopt;
    std::string out;
    out.reserve(text.size() * 3 / 4);
    std::uint32_t bits = 0;
    int have = 0;
    for (char c : text) {
        auto value = url64.find(c);
        if (value == std::string_view::npos) return std::nullopt;
        bits = (bits << 6 | static_cast<std::uint32_t>(value)) & 0xFFFFFFU;
        have += 6;
        if (have < 8) continue;
        have -= 8;
        out += static_cast<char>(bits >> have & 0xFFU);
    }
    if ((bits & ((1U << have) - 1U)) != 0) return std::nullopt;
    return out;
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
    std::size_t best = std::max<std::size_t>(1, word.size() / 3) + 1;
    std::optional<std::string> found;
    for (const auto& candidate : candidates) {
        auto longer = std::max(word.size(), candidate.size());
        if (longer - std::min(word.size(), candidate.size()) >= best) continue;
        auto d = distance(word, candidate);
        if (d >= best) continue;
        best = d;
        found = candidate;
    }
    return found;
}

std::optional<unsigned long long> parse_unsigned(std::string_view digits) {
    unsigned long long value = 0;
    if (digits.empty()) return std::nullopt;
    if (!std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; })) {
        return std::nullopt;
    }
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
    return value;
}

std::uint64_t fnv1a(std::string_view text) {
    std::uint64_t hash = 14695981039346656037ULL;
    for (unsigned char c : text) {
        hash ^= c;
        hash *= 1099511628211ULL;
    }
    return hash;
}

} // namespace sluice::base
