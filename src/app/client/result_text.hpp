// MCP results as text for people: a tool's content, a server's name, which servers of a list
// failed. Pure functions over validated JSON; used by `sluice list` and `sluice call`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::app {

std::optional<std::string> text_member(std::string_view object, std::string_view key);

// The content blocks of a tools/call result; structuredContent when there are none.
std::string content_text(std::string_view result);

// "name version" of an initialize result's serverInfo.
std::string server_title(std::string_view initialize_result);
bool has_capability(std::string_view initialize_result, std::string_view name);

// One sentence for each server whose outcome is not ok (`_meta["sluice/server_outcomes"]`).
std::vector<std::string> bad_outcomes(std::string_view result);

} // namespace sluice::app
