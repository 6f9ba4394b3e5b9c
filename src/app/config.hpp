// The configuration file → settings. `sluice serve` and `sluice check-config` read it alike: every
// problem at once, with its place; no settings are used unless there is none.
// docs/configuration.md describes the file and is held to the table in config_keys.hpp by a test.
#pragma once

#include "app/config_document.hpp"
#include "app/config_problem.hpp"
#include "app/settings.hpp"

#include <string>
#include <vector>

namespace sluice::app {

struct loaded_config {
    settings values; // complete and checked when there are no problems
    std::vector<problem> problems;
    bool ok() const { return problems.empty(); }
};

// Reads the file and this process's environment.
loaded_config load_config(const std::string& file);

// The same of a text; `file` is only for messages.
loaded_config
parse_config(const std::string& text, const std::string& file, const environment& env);

} // namespace sluice::app
