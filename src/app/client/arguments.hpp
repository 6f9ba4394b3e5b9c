// key=value words of the command line to a JSON object, typed by the tool's inputSchema.
// Used by `sluice call`. Faults are sentences for the person who typed them.
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::app {

using named_value = std::pair<std::string, std::string>;

// "key=value"; the value may be empty and may hold '='.
base::result<std::vector<named_value>> split_words(const std::vector<std::string>& words);

// `schema` is a tool's inputSchema (validated JSON), or empty when it is not known: then a value
// that is JSON on its own (5, true, null, [1], {"a":1}) is taken as that and anything else as a
// string.
base::result<std::string>
arguments_json(const std::vector<named_value>& values, std::string_view schema);

} // namespace sluice::app
