// Where a $ref of a schema leads: a place in the same document.
#pragma once

#include <optional>
#include <string_view>

namespace sluice::mcp {

// `document` is validated JSON. "#" and "#/…" only: nothing is fetched, and an anchor may mean what
// we cannot see.
std::optional<std::string_view> place_of(std::string_view ref, std::string_view document);

} // namespace sluice::mcp
