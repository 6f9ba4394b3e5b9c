// A small MCP server to try the gateway on: Streamable HTTP on 127.0.0.1, or stdio.
// Both return the process's exit status and end cleanly on SIGINT, SIGTERM (HTTP) or end of input
// (stdio).
#pragma once

#include "app/demo/session.hpp"

#include <cstdint>

namespace sluice::app {

// Prints "demo upstream on http://127.0.0.1:PORT/mcp" once it can be reached; port 0 = any free
// one.
int demo_over_http(std::uint16_t port, demo::options wanted);
int demo_over_stdio(demo::options wanted);

} // namespace sluice::app
