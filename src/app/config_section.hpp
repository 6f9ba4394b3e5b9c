// A map of the file under check: where its keys stand and what they are called in full.
#pragma once

#include "app/config_document.hpp"
#include "app/config_problem.hpp"
#include "app/config_read.hpp"

#include <string>
#include <string_view>

namespace sluice::app {

struct section {
    const yaml_node* map; // may be null, and may be no map at all
    place own;            // the section's own key
    std::string path;

    const yaml_node* find(std::string_view key) const { // dotted below the section
        const yaml_node* node = map;
        while (node != nullptr && !key.empty()) {
            auto dot = key.find('.');
            const auto* entry = node->find(key.substr(0, dot));
            node = entry == nullptr ? nullptr : &entry->value;
            key = dot == std::string_view::npos ? std::string_view() : key.substr(dot + 1);
        }
        return node;
    }
    bool has(std::string_view key) const {
        const auto* node = find(key);
        return node != nullptr && !node->is_null();
    }
    place at(std::string_view key) const {
        const auto* node = find(key);
        return node == nullptr ? own : node->where;
    }
    // Of an item of a list, a value of a map.
    place at(std::string_view key, std::size_t index) const {
        const auto* node = find(key);
        if (node == nullptr || index >= node->items.size()) return at(key);
        return node->items[index].where;
    }
    void complain(
        problem_list& problems,
        std::string_view key,
        std::string text,
        std::optional<std::string> suggestion = {}
    ) const {
        problems.add(at(key), dotted(path, key), std::move(text), std::move(suggestion));
    }
    void complain_item(
        problem_list& problems,
        std::string_view key,
        std::size_t index,
        std::string text,
        std::optional<std::string> suggestion = {}
    ) const {
        auto name = dotted(path, key) + "[" + std::to_string(index) + "]";
        problems.add(at(key, index), std::move(name), std::move(text), std::move(suggestion));
    }
};

} // namespace sluice::app
