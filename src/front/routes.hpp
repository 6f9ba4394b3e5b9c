// Which endpoint a request target means: /mcp, /mcp/{names}, /{names}/mcp, below the mount path.
// Both /mcp and /mcp/ are served, never redirected.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sluice::front {

struct route {
    std::string names;  // "a,b", decoded; empty = all servers
};

// Nothing when the path is none of ours (404).
std::optional<route> find_route(std::string_view path, std::string_view mount_path);

}  // namespace sluice::front
