// The error of a 2025-11-25 upstream that wants pages visited first (-32042), for hosts that do not
// know it: a tool's result, or an error of another method, that says so in words. Pure. Spec:
// Elicitation, "URL Mode With Elicitation Required Error".
#pragma once

#include <string>
#include <string_view>

namespace sluice::mcp {

inline constexpr std::string_view code_url_required = "-32042";

// A tools/call result with isError; `error_object` is the JSON text of the JSON-RPC error.
std::string url_required_result(std::string_view error_object);
// The message of an error for what is no tool's call, whose results cannot say that they failed.
std::string url_required_message(std::string_view error_object);

} // namespace sluice::mcp
