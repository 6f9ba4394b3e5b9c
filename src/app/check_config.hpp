// `sluice check-config FILE`: says every problem, or that there is none. Returns the exit status.
#pragma once

#include <string>

namespace sluice::app {

int check_config(const std::string& file);

} // namespace sluice::app
