// Which endpoint a request target means: /mcp, /mcp/{names}, /{names}/mcp, below the mount path,
// and below each of them /sse and /sse/messages. Both /mcp and /mcp/ are served, never redirected.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::front {

enum class endpoint : std::uint8_t {
    streamable,   // …/mcp
    sse,          // …/sse below it: the stream of the 2024-11-05 transport
    sse_messages, // …/sse/messages: where that transport's hosts post
};

struct route {
    std::string names; // "a,b", decoded; empty = all servers
    endpoint at = endpoint::streamable;
};

// Nothing when the path is none of ours (404).
std::optional<route> find_route(std::string_view path, std::string_view mount_path);
// The path without its mount path, if it has it.
std::string_view below_mount(std::string_view path, std::string_view mount_path);

} // namespace sluice::front
