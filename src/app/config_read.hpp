// From a tree to settings by a table of keys: fills what is right, says what is not, goes on.
#pragma once

#include "app/config_document.hpp"
#include "app/config_keys.hpp"
#include "app/config_problem.hpp"
#include "base/text.hpp"

#include <string>
#include <string_view>

namespace sluice::app {

// "a" + "b" → "a.b".
std::string dotted(std::string_view before, std::string_view key);

// Puts one value where it goes; `key` is its full dotted name. Nothing written means left out.
void read_value(
    const slot& to, const yaml_node& node, const std::string& key, problem_list& problems
);

// The key that was perhaps meant, here or in another block.
template <class Root>
std::optional<std::string>
nearest_key(const std::string& key, std::string_view within, const key_table<Root>& table) {
    names known;
    std::optional<std::string> elsewhere;
    for (const auto& row : table.rows) {
        if (row.name.ends_with("." + key)) elsewhere = row.name;
        if (!row.name.starts_with(within)) continue;
        auto rest = row.name.substr(within.size());
        known.emplace_back(rest.substr(0, rest.find('.')));
    }
    auto near = base::nearest(key, known);
    return near ? near : elsewhere;
}

// A map with keys of the table; `within` is where in the table we are ("limits." or empty), `path`
// what people call the map. Keys of blocks are passed over.
template <class Root>
void read_map(
    const yaml_node& node,
    const std::string& path,
    std::string_view within,
    Root& root,
    const key_table<Root>& table,
    problem_list& problems
) {
    if (node.is_null()) return;
    if (!node.is_map()) {
        problems.add(node.where, path, "must be a map, not " + std::string(node.kind_name()));
        return;
    }
    for (const auto& entry : node.entries) {
        std::string name = std::string(within) + entry.key;
        std::string full = dotted(path, entry.key);
        const key_row<Root>* exact = nullptr;
        bool section = false;
        auto block = name + ".";
        for (const auto& row : table.rows) {
            if (row.name == name) exact = &row;
            if (row.name.starts_with(block)) section = true;
        }
        // A key may be written as one value or as a block: `store`.
        bool whole = exact != nullptr && !(section && entry.value.is_map());
        if (whole) {
            read_value(exact->where(root), entry.value, full, problems);
        } else if (section) {
            read_map(entry.value, full, block, root, table, problems);
        } else if (is_later(table.later, name)) {
            problems.add(entry.where, full, "not supported yet: " + entry.key);
        } else if (problems.is_full()) {
            problems.add(entry.where, full, "unknown key");
        } else {
            problems.add(entry.where, full, "unknown key", nearest_key(entry.key, within, table));
        }
    }
}

} // namespace sluice::app
