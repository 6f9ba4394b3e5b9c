// The one table from what went wrong to what the host is told: JSON-RPC code, HTTP status,
// sentence. Spec: JSON-RPC 2.0 §5.1; MCP error codes per revision.
#pragma once

#include "base/outcome.hpp"
#include "base/result.hpp"

#include <string>
#include <string_view>

namespace sluice::mcp {

inline constexpr int code_parse_error = -32700;
inline constexpr int code_invalid_request = -32600;
inline constexpr int code_method_not_found = -32601;
inline constexpr int code_invalid_params = -32602;
inline constexpr int code_internal = -32603;
inline constexpr int code_resource_not_found = -32002; // R1–R4

int rpc_code_of(const base::fault& f);
// For an answer that is an HTTP failure of ours (front) before anything was streamed.
int http_status_of(const base::fault& f);
// Single-server routes turn an upstream's outcome into the status.
int http_status_of(base::outcome o);
// The same, knowing why: 503 where a bound of ours was reached, for later it may be served.
int http_status_of(base::outcome o, const base::fault& f);

// "upstream 'x': …" in our own words, with what to do; never upstream prose, never a URL.
std::string sentence_for(std::string_view server, base::outcome o, const base::fault& f);

} // namespace sluice::mcp
