// Public names on an aggregate: `{prefix}{separator}{native}`, shortened with a stable hash when
// longer than the bound, and the way back. Longest known prefix wins; never a blind split at the
// separator. Pure text; catalog adds what is known of the upstreams' lists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sluice::mcp {

struct naming {
    std::string separator = "-";
    std::size_t max_length = 64; // bytes; prefix + separator ≤ 46 keeps room for head and hash
};

// Shortened names end in "_" + 10 hex digits of the hash of the whole public name.
std::string public_name(const naming& rule, std::string_view prefix, std::string_view native);
bool is_shortened(const naming& rule, std::string_view name);

// Of the same looks and stable: for a name that another thing has already.
std::string distinct_name(std::string_view native);

struct split_name {
    std::size_t prefix_index = 0; // into the prefixes given
    std::string_view native;      // for a shortened name: its head and hash, to be looked up
    bool shortened = false;
};
std::optional<split_name> split_public_name(
    const naming& rule, std::span<const std::string_view> prefixes, std::string_view name
);

} // namespace sluice::mcp
