#include "front/routes.hpp"

#include "base/text.hpp"
#include "net/http.hpp"

#include <vector>

namespace sluice::front {

std::string_view below_mount(std::string_view path, std::string_view mount_path) {
    bool below = !mount_path.empty() && path.starts_with(mount_path) &&
                 (path.size() == mount_path.size() || path[mount_path.size()] == '/');
    if (below) path.remove_prefix(mount_path.size());
    return path;
}

std::optional<route> find_route(std::string_view path, std::string_view mount_path) {
    // A proxy in front may have stripped the mount path already.
    path = below_mount(path, mount_path);
    if (!path.starts_with('/')) return std::nullopt;
    path.remove_prefix(1);
    if (path.ends_with('/')) path.remove_suffix(1);
    auto parts = base::split(path, '/');
    route found;
    if (parts.size() > 2 && parts.back() == "messages" && parts[parts.size() - 2] == "sse") {
        found.at = endpoint::sse_messages;
        parts.resize(parts.size() - 2);
    } else if (parts.size() > 1 && parts.back() == "sse") {
        found.at = endpoint::sse;
        parts.pop_back();
    }
    if (parts.size() == 1 && parts[0] == "mcp") return found;
    if (parts.size() != 2) return std::nullopt;
    std::string_view names;
    if (parts[0] == "mcp") {
        names = parts[1];
    } else if (parts[1] == "mcp") {
        names = parts[0];
    } else {
        return std::nullopt;
    }
    auto decoded = net::percent_decode(names);
    if (!decoded || decoded->empty()) return std::nullopt;
    found.names = std::move(*decoded);
    return found;
}

} // namespace sluice::front
