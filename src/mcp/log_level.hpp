// The syslog-like levels of MCP logging, in order. Spec: Utilities/Logging.
#pragma once

#include <string_view>

namespace sluice::mcp {

bool is_log_level(std::string_view level);
// Whether `level` is less severe than `wanted`; unknown words are never below.
bool is_below(std::string_view level, std::string_view wanted);

} // namespace sluice::mcp
