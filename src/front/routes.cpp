#include "front/routes.hpp"

#include "base/text.hpp"
#include "net/http.hpp"

#include <vector>

namespace sluice::front {

std::optional<route> find_route(std::string_view path, std::string_view mount_path) {
    // A mount path is stripped when it is there; a proxy in front may have stripped it already.
    if (!mount_path.empty() && path.starts_with(mount_path) &&
        (path.size() == mount_path.size() || path[mount_path.size()] == '/')) {
        path.remove_prefix(mount_path.size());
    }
    if (!path.starts_with('/')) return std::nullopt;
    path.remove_prefix(1);
    if (path.ends_with('/')) path.remove_suffix(1);
    auto parts = base::split(path, '/');
    if (parts.size() == 1 && parts[0] == "mcp") return route{};
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
    return route{*decoded};
}

}  // namespace sluice::front
