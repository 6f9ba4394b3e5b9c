#include "catalog/directory.hpp"

#include <algorithm>

namespace sluice::catalog {

directory::directory(settings rules, const std::vector<upstream::server_settings>& servers)
    : rules_(std::move(rules)), naming_{rules_.separator, rules_.max_name}, servers_(servers) {}

std::vector<std::size_t> directory::find(std::string_view name) const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < servers_.size(); ++i) {
        const auto& s = servers_[i];
        bool in_group = std::find(s.access_groups.begin(), s.access_groups.end(), name) !=
                        s.access_groups.end();
        if (s.is_called(name) || in_group) found.push_back(i);
    }
    return found;
}

bool directory::is_server_name(std::string_view name) const {
    return std::any_of(servers_.begin(), servers_.end(), [&](const auto& s) {
        return s.is_called(name);
    });
}

std::string
directory::public_name(const scope& where, std::size_t server, std::string_view native) const {
    if (where.single) return std::string(native);
    return mcp::public_name(naming_, servers_[server].prefix(), native);
}

shown_tool
directory::show_tool(const scope& where, std::size_t server, std::string_view native) const {
    const auto& shown = servers_[server].tool_name_to_display_name;
    auto it = shown.find(std::string(native));
    if (it != shown.end()) return {public_name(where, server, it->second)};
    auto other = displaced_by(server, native);
    if (other) return {public_name(where, server, mcp::distinct_name(native)), other};
    return {public_name(where, server, native)};
}

// Of a tool that is not shown under another name itself.
std::optional<std::string_view>
directory::displaced_by(std::size_t server, std::string_view native) const {
    const auto& shown = servers_[server].tool_name_to_display_name;
    if (shown.empty() || shown.contains(std::string(native))) return std::nullopt;
    for (const auto& [other, display] : shown) {
        if (display == native) return other;
    }
    return std::nullopt;
}

std::string directory::native_of(std::size_t server, std::string_view shown, bool tool) const {
    if (!tool) return std::string(shown);
    for (const auto& [native, display] : servers_[server].tool_name_to_display_name) {
        if (display == shown) return native;
        bool distinct = mcp::distinct_name(display) == shown && displaced_by(server, display);
        if (distinct) return display;
    }
    return std::string(shown);
}

std::optional<route>
directory::resolve(const scope& where, std::string_view name, bool tool) const {
    if (where.single)
        return route{where.servers.front(), native_of(where.servers.front(), name, tool)};
    std::vector<std::string_view> prefixes;
    prefixes.reserve(where.servers.size());
    for (auto index : where.servers)
        prefixes.emplace_back(servers_[index].prefix());
    auto split = mcp::split_public_name(naming_, prefixes, name);
    if (!split) return std::nullopt;
    auto server = where.servers[split->prefix_index];
    return route{server, native_of(server, split->native, tool), split->shortened};
}

} // namespace sluice::catalog
