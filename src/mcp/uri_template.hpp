// Whether a URI could have been made from a template (RFC 6570): for routing reads to the upstream
// whose template fits, never to extract values.
#pragma once

#include <string_view>

namespace sluice::mcp {

// Every expression stands for any run of characters; `{x}` and `{x,y}` for one without '/',
// operators that may span segments (`+ # / ? & . ;`) for any. Templates over 2 KiB and URIs over 8
// KiB match nothing.
bool matches_template(std::string_view uri_template, std::string_view uri);

} // namespace sluice::mcp
