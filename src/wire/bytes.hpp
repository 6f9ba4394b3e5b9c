// The inner loops of the JSON scan: byte classes and jumps over runs that need no look.
// Used inside `wire` only. Every function stays inside [p, end].
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace sluice::wire::bytes {

enum class_bits : std::uint8_t {
    is_space = 1, // JSON white space
    is_plain = 2, // may stand in a string as it is: ASCII but controls, quote, backslash
    is_digit = 4,
    is_bracket = 8, // " [ ] { }
};

constexpr std::array<std::uint8_t, 256> make_classes() {
    std::array<std::uint8_t, 256> table{};
    for (int c = 0x20; c < 0x80; ++c)
        if (c != '"' && c != '\\') table[static_cast<unsigned char>(c)] |= is_plain;
    for (char c : {' ', '\t', '\n', '\r'})
        table[static_cast<unsigned char>(c)] |= is_space;
    for (char c = '0'; c <= '9'; ++c)
        table[static_cast<unsigned char>(c)] |= is_digit;
    for (char c : {'"', '[', ']', '{', '}'})
        table[static_cast<unsigned char>(c)] |= is_bracket;
    return table;
}

inline constexpr auto classes = make_classes();

// The two ends of a text, for the (p, end) loops.
inline const char* first(std::string_view text) {
    return text.data();
}
inline const char* last(std::string_view text) {
    return text.data() + text.size();
}

inline bool has(char c, class_bits bits) {
    return (classes[static_cast<unsigned char>(c)] & bits) != 0;
}

inline const char* skip_space(const char* p, const char* end) {
    while (p != end && has(*p, is_space))
        ++p;
    return p;
}

inline const char* skip_digits(const char* p, const char* end) {
    while (p != end && has(*p, is_digit))
        ++p;
    return p;
}

// First byte of a string that is not plain: quote, backslash, control or beyond ASCII.
inline const char* skip_plain(const char* p, const char* end) {
#if defined(__SSE2__)
    const __m128i quote = _mm_set1_epi8('"');
    const __m128i slash = _mm_set1_epi8('\\');
    const __m128i blank = _mm_set1_epi8(0x20);
    while (end - p >= 16) {
        const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
        // Signed comparison: bytes beyond ASCII are negative, so one test finds them and controls.
        const __m128i hit = _mm_or_si128(
            _mm_cmplt_epi8(x, blank),
            _mm_or_si128(_mm_cmpeq_epi8(x, quote), _mm_cmpeq_epi8(x, slash))
        );
        const auto mask = static_cast<unsigned>(_mm_movemask_epi8(hit));
        if (mask != 0) return p + std::countr_zero(mask);
        p += 16;
    }
#endif
    while (p != end && has(*p, is_plain))
        ++p;
    return p;
}

// First quote or backslash; for text already validated.
inline const char* find_quote(const char* p, const char* end) {
#if defined(__SSE2__)
    const __m128i quote = _mm_set1_epi8('"');
    const __m128i slash = _mm_set1_epi8('\\');
    while (end - p >= 16) {
        const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
        const __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(x, quote), _mm_cmpeq_epi8(x, slash));
        const auto mask = static_cast<unsigned>(_mm_movemask_epi8(hit));
        if (mask != 0) return p + std::countr_zero(mask);
        p += 16;
    }
#endif
    while (p != end && *p != '"' && *p != '\\')
        ++p;
    return p;
}

// First quote, bracket or brace; for text already validated.
inline const char* find_bracket(const char* p, const char* end) {
#if defined(__SSE2__)
    const __m128i quote = _mm_set1_epi8('"');
    const __m128i bit = _mm_set1_epi8(0x20); // '[' | 0x20 == '{', ']' | 0x20 == '}'
    const __m128i open = _mm_set1_epi8('{');
    const __m128i close = _mm_set1_epi8('}');
    while (end - p >= 16) {
        const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
        const __m128i folded = _mm_or_si128(x, bit);
        const __m128i hit = _mm_or_si128(
            _mm_cmpeq_epi8(x, quote),
            _mm_or_si128(_mm_cmpeq_epi8(folded, open), _mm_cmpeq_epi8(folded, close))
        );
        const auto mask = static_cast<unsigned>(_mm_movemask_epi8(hit));
        if (mask != 0) return p + std::countr_zero(mask);
        p += 16;
    }
#endif
    while (p != end && !has(*p, is_bracket))
        ++p;
    return p;
}

// First CR or LF.
inline const char* find_line_end(const char* p, const char* end) {
#if defined(__SSE2__)
    const __m128i cr = _mm_set1_epi8('\r');
    const __m128i lf = _mm_set1_epi8('\n');
    while (end - p >= 16) {
        const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
        const __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(x, cr), _mm_cmpeq_epi8(x, lf));
        const auto mask = static_cast<unsigned>(_mm_movemask_epi8(hit));
        if (mask != 0) return p + std::countr_zero(mask);
        p += 16;
    }
#endif
    while (p != end && *p != '\r' && *p != '\n')
        ++p;
    return p;
}

// Length of the UTF-8 sequence beyond ASCII at p, 0 when it is not one. After RFC 3629's table: the
// second byte's range depends on the first (no overlong forms, no surrogates, nothing over
// U+10FFFF).
inline std::ptrdiff_t utf8_length(const char* p, const char* end) {
    const auto byte = [p](std::ptrdiff_t i) { return static_cast<unsigned char>(p[i]); };
    const unsigned char lead = byte(0);
    if (lead < 0xC2 || lead > 0xF4) return 0;
    const std::ptrdiff_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (end - p < length) return 0;
    const unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (byte(1) < low || byte(1) > high) return 0;
    for (std::ptrdiff_t i = 2; i < length; ++i)
        if ((byte(i) & 0xC0U) != 0x80U) return 0;
    return length;
}

} // namespace sluice::wire::bytes
