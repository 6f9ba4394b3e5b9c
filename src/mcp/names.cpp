#include "mcp/names.hpp"

#include "base/text.hpp"

#include <array>

namespace sluice::mcp {

namespace {

constexpr std::size_t hash_digits = 10;

std::string tail_of(std::string_view whole) {
    auto hash = base::fnv1a(whole);
    std::array<char, 8> bytes{};
    for (auto& b : bytes) {
        b = static_cast<char>(hash >> 56U);
        hash <<= 8U;
    }
    return "_" + base::hex({bytes.data(), bytes.size()}).substr(0, hash_digits);
}

// A cut inside a UTF-8 sequence would make a name that is no text. No sequence goes on for more
// than three bytes: what does is no text anyway, and must not eat the prefix.
std::size_t whole_characters(std::string_view text, std::size_t at) {
    std::size_t least = at > 3 ? at - 3 : 0;
    while (at > least && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U)
        --at;
    return at;
}

} // namespace

std::string public_name(const naming& rule, std::string_view prefix, std::string_view native) {
    std::string whole;
    whole.reserve(prefix.size() + rule.separator.size() + native.size());
    whole.append(prefix).append(rule.separator).append(native);
    if (whole.size() <= rule.max_length) return whole;
    std::string tail = tail_of(whole);
    std::size_t head = rule.max_length > tail.size() ? rule.max_length - tail.size() : 0;
    return whole.substr(0, whole_characters(whole, head)) + tail;
}

std::string distinct_name(std::string_view native) {
    return std::string(native) + tail_of(native);
}

bool is_shortened(const naming& rule, std::string_view name) {
    constexpr std::size_t tail = hash_digits + 1;
    // A cut between characters may leave up to three bytes unused.
    if (name.size() > rule.max_length || name.size() + 3 < rule.max_length || name.size() < tail) {
        return false;
    }
    auto end = name.substr(name.size() - tail);
    if (end.front() != '_') return false;
    return end.find_first_not_of("0123456789abcdef", 1) == std::string_view::npos;
}

std::optional<split_name> split_public_name(
    const naming& rule, std::span<const std::string_view> prefixes, std::string_view name
) {
    std::optional<split_name> best;
    std::size_t longest = 0;
    for (std::size_t i = 0; i < prefixes.size(); ++i) {
        auto prefix = prefixes[i];
        if (best && prefix.size() <= longest) continue;
        if (!name.starts_with(prefix)) continue;
        auto rest = name.substr(prefix.size());
        if (!rest.starts_with(rule.separator)) continue;
        longest = prefix.size();
        best = split_name{i, rest.substr(rule.separator.size()), is_shortened(rule, name)};
    }
    return best;
}

} // namespace sluice::mcp
