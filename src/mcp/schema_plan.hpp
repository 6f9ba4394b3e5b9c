// The nodes of a schema that was read: what output_schema holds and its two halves share.
#pragma once

#include "wire/decimal.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::mcp {

using node_index = std::size_t;

// Bits of schema_node::types.
enum : std::uint8_t {
    type_null = 1,
    type_boolean = 2,
    type_object = 4,
    type_array = 8,
    type_number = 16,
    type_string = 32,
    type_integer = 64,
    type_any = 127,
};

struct schema_node {
    bool never = false; // the schema `false`
    std::uint8_t types = type_any;
    std::optional<std::string> constant; // canonical text, as those of `choices`
    std::optional<std::vector<std::string>> choices;
    std::optional<wire::decimal> minimum, maximum, above, below, multiple_of;
    std::optional<std::size_t> min_length, max_length, min_items, max_items;
    std::optional<std::size_t> min_properties, max_properties, min_contains, max_contains;
    std::map<std::string, node_index, std::less<>> properties;
    std::vector<std::string> required;
    std::map<std::string, std::vector<std::string>> dependent_required;
    std::map<std::string, node_index> dependent_schemas;
    std::vector<node_index> prefix, all_of, any_of, one_of;
    std::optional<node_index> ref, additional, property_names, items, items_beyond, contains;
    std::optional<node_index> negated, when, then, otherwise;
    bool unique = false;
};

struct schema_plan {
    std::vector<schema_node> nodes; // the first is the root
};

// One text for equal values: members in order of their names, numbers by value.
std::string canonical(std::string_view value);

} // namespace sluice::mcp
