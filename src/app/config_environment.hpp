// ${NAME}, $${ and os.environ/NAME in a value.
#pragma once

#include "app/config_document.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sluice::app {

struct substituted {
    std::string text;
    bool from_environment = false;
    std::vector<std::string> complaints; // one sentence each, naming the variable
};

// "${NAME}" anywhere is replaced, "$${" stands for "${"; "os.environ/NAME" as the whole value is
// replaced. What was put in is not looked at again.
substituted substitute(std::string_view written, const environment& env);

} // namespace sluice::app
