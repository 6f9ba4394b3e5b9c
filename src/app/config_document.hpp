// A YAML file as a tree with places, made from yaml-cpp's events: duplicate keys are found
// (yaml-cpp keeps them silently), environment variables are put in, aliases are expanded within a
// bound. Used by the readers of app/config; knows nothing of what keys mean.
#pragma once

#include "app/config_problem.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::app {

struct yaml_entry;

struct yaml_node {
    enum class kind : std::uint8_t { null, scalar, sequence, map };
    kind what = kind::null;
    place where;
    std::string text;                // of a scalar, environment put in
    bool from_environment = false;   // then `text` is not in the file and must not be shown
    std::vector<yaml_node> items;    // of a sequence
    std::vector<yaml_entry> entries; // of a map; each key once

    bool is_map() const { return what == kind::map; }
    bool is_null() const { return what == kind::null; }
    const yaml_entry* find(std::string_view key) const; // of a map, else null
    std::string_view kind_name() const;                 // "a map"
};

struct yaml_entry {
    std::string key;
    place where;
    yaml_node value;
};

// Looks a variable up; nullopt when it is not set.
using environment = std::function<std::optional<std::string>(std::string_view name)>;

// nullopt when the text is not one YAML document; the reason is in `problems`. A missing variable
// or a key given twice is a problem, but the tree comes all the same.
std::optional<yaml_node>
parse_document(const std::string& text, const environment& env, problem_list& problems);

} // namespace sluice::app
