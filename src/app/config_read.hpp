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
        names known;
        std::string elsewhere;
        for (const auto& row : table.rows) {
            if (row.name == name) exact = &row;
            if (row.name.starts_with(name + ".")) section = true;
            if (row.name.ends_with("." + entry.key)) elsewhere = row.name;
            if (!row.name.starts_with(within)) continue;
            auto rest = row.name.substr(within.size());
            known.emplace_back(rest.substr(0, rest.find('.')));
        }
        // A key may be written as one value or as a block: `store`.
        bool whole = exact != nullptr && !(section && entry.value.is_map());
        if (whole) {
            read_value(exact->where(root), entry.value, full, problems);
        } else if (section) {
            read_map(entry.value, full, name + ".", root, table, problems);
        } else if (is_later(table.later, name)) {
            problems.add(entry.where, full, "not supported yet: " + entry.key);
        } else {
            auto near = base::nearest(entry.key, known);
            if (!near && !elsewhere.empty()) near = elsewhere;
            problems.add(entry.where, full, "unknown key", near);
        }
    }
}

} // namespace sluice::app
