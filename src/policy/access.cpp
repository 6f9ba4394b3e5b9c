#include "policy/access.hpp"

#include <algorithm>

namespace sluice::policy {

namespace {

template <class List, class Item>
bool holds(const List& list, const Item& item) {
    return std::find(list.begin(), list.end(), item) != list.end();
}

std::string_view word_for(item_kind kind) {
    switch (kind) {
    case item_kind::tool:
        return "tool";
    case item_kind::prompt:
        return "prompt";
    case item_kind::resource:
        return "resource";
    case item_kind::server:
        return "server";
    }
    return "item";
}

base::result<void> check_arguments(
    const upstream::server_settings& server,
    item_kind kind,
    std::string_view item,
    std::span<const std::string> names
) {
    if (kind != item_kind::tool) return {};
    auto limits = server.allowed_params.find(std::string(item));
    if (limits == server.allowed_params.end()) return {};
    for (const auto& name : names) {
        if (holds(limits->second, name)) continue;
        return base::fault(
            base::errc::forbidden, "argument \"" + name + "\" of this tool is not allowed"
        );
    }
    return {};
}

// The server's own switches, whoever asks.
bool server_offers_tool(const upstream::server_settings& server, std::string_view tool) {
    if (!server.allowed_tools.empty()) return holds(server.allowed_tools, tool);
    return !holds(server.disallowed_tools, tool);
}

} // namespace

authoriser::authoriser(
    const settings& from, const std::vector<upstream::server_settings>& servers
) {
    for (const auto& server : servers) {
        for (const auto& name : {server.name, server.alias}) {
            if (name.empty()) continue;
            starts_.push_back({name + "/", server.name});
            starts_.push_back({name + from.separator, server.name});
        }
    }
}

std::vector<tool_reading> authoriser::readings(std::string_view entry) const {
    std::vector<tool_reading> found;
    for (const auto& start : starts_) {
        if (entry.size() <= start.text.size() || !entry.starts_with(start.text)) continue;
        tool_reading one{start.server, entry.substr(start.text.size())};
        if (!holds(found, one)) found.push_back(one);
    }
    return found;
}

bool authoriser::may_use_server(const principal& who, const upstream::server_settings& server)
    const {
    if (!who.servers && !who.groups) return true;
    if (server.allow_all_keys) return true;
    auto called = [&](const std::string& text) { return server.is_called(text); };
    auto grouped = [&](const std::string& group) { return holds(server.access_groups, group); };
    if (who.servers && std::any_of(who.servers->begin(), who.servers->end(), called)) return true;
    return who.groups && std::any_of(who.groups->begin(), who.groups->end(), grouped);
}

bool authoriser::may_use_tool(
    const principal& who, const upstream::server_settings& server, std::string_view tool
) const {
    if (!server_offers_tool(server, tool)) return false;
    if (!who.tools) return true;
    const tool_reading wanted{server.name, tool};
    auto named = [&](const std::string& entry) {
        if (!entry.ends_with(tool)) return false;
        auto meant = readings(entry);
        if (meant.empty()) return entry == tool;
        return meant.size() == 1 && meant.front() == wanted;
    };
    return std::any_of(who.tools->begin(), who.tools->end(), named);
}

bool authoriser::may(
    const principal& who,
    const upstream::server_settings& server,
    item_kind kind,
    std::string_view item
) const {
    if (!may_use_server(who, server)) return false;
    return kind != item_kind::tool || may_use_tool(who, server, item);
}

base::result<grant> authoriser::authorise(
    const caller& who,
    const upstream::server_settings& server,
    item_kind kind,
    std::string_view item,
    std::span<const std::string> argument_names
) const {
    if (!who || !may(*who, server, kind, item)) {
        return base::fault(base::errc::not_found, "no such " + std::string(word_for(kind)));
    }
    auto allowed = check_arguments(server, kind, item, argument_names);
    if (!allowed) return allowed.error();
    return grant(who, server.name, kind, std::string(item));
}

} // namespace sluice::policy
