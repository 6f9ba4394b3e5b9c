// `sluice serve`: configuration to running gateway to drain. Returns the process's exit status.
#pragma once

#include <string>

namespace sluice::app {

int serve(const std::string& config_file);

} // namespace sluice::app
