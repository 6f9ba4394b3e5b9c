#include "gateway/routing.hpp"

#include "base/text.hpp"
#include "catalog/instructions.hpp"
#include "gateway/fetch.hpp"
#include "mcp/uri_template.hpp"

#include <algorithm>

namespace sluice::gateway {

namespace {

bool is_tools(const mcp::method_info& list) {
    return list.id == mcp::method::tools_list;
}

base::fault unknown(const mcp::method_info& list, const std::string& name) {
    std::string_view word = is_tools(list) ? "tool" : "prompt";
    return {base::errc::invalid_params, "Unknown " + std::string(word) + ": " + base::clip(name)};
}

std::string shown(
    house& in,
    const operation& op,
    const mcp::method_info& list,
    std::size_t server,
    const std::string& native
) {
    return is_tools(list) ? in.names.public_tool(op.scope, server, native)
                          : in.names.public_name(op.scope, server, native);
}

// As a bare name may be: without the server's prefix.
bool is_bare_name_of(
    house& in,
    const mcp::method_info& list,
    std::size_t server,
    const std::string& native,
    const std::string& name
) {
    return in.names.native_of(server, name, is_tools(list)) == native;
}

aio::task<base::result<catalog::route>>
find_bare(house& in, shared_operation op, const mcp::method_info& list, std::string name) {
    std::vector<std::size_t> unread;
    for (auto server : op->scope.servers) {
        if (in.lists.find(viewpoint_of(in, *op, server), list.list_key) == nullptr)
            unread.push_back(server);
    }
    auto parts = first_pages_of(unread);
    if (!parts.empty()) co_await fetch_parts(in, op, list, parts);
    std::vector<catalog::route> found;
    bool complete = true;
    for (auto server : op->scope.servers) {
        const auto* known = in.lists.find(viewpoint_of(in, *op, server), list.list_key);
        if (known == nullptr || !known->complete) complete = false;
        if (known == nullptr) continue;
        for (const auto& native : known->natives) {
            auto kind = is_tools(list) ? policy::item_kind::tool : policy::item_kind::prompt;
            if (!is_bare_name_of(in, list, server, native, name)) continue;
            if (in.authoriser.may(*op->caller, in.names.server(server), kind, native)) {
                found.push_back({server, native, false});
            }
        }
    }
    if (complete && found.size() == 1) co_return found.front();
    if (found.empty()) co_return unknown(list, name);
    std::vector<std::string> forms;
    forms.reserve(found.size());
    for (const auto& r : found)
        forms.push_back("'" + shown(in, *op, list, r.server, r.native) + "'");
    co_return base::fault(
        base::errc::invalid_params,
        "the bare name '" + base::clip(name) + "' is not certain to mean one upstream; use " +
            base::join(forms, " or ")
    );
}

// A shortened name is looked up in what is known; only when it is not there the list is read, to
// its end.
aio::task<base::result<std::vector<std::string>>> known_or_all_names(
    house& in,
    shared_operation op,
    const mcp::method_info& list,
    catalog::route route,
    std::string name
) {
    const auto* known = in.lists.find(viewpoint_of(in, *op, route.server), list.list_key);
    if (known != nullptr) {
        auto it =
            std::find_if(known->natives.begin(), known->natives.end(), [&](const auto& native) {
                return shown(in, *op, list, route.server, native) == name;
            });
        if (it != known->natives.end()) co_return std::vector<std::string>{*it};
    }
    reading how_far;
    auto all = co_await fetch_all_names(in, op, list, route.server, std::move(how_far));
    co_return all;
}

} // namespace

aio::task<base::result<catalog::route>>
find_named(house& in, shared_operation op, const mcp::method_info& list, std::string name) {
    auto route = in.names.resolve(op->scope, name, is_tools(list));
    if (!route) {
        auto bare = co_await find_bare(in, op, list, std::move(name));
        co_return bare;
    }
    if (!route->shortened) co_return *route;
    auto names = co_await known_or_all_names(in, op, list, *route, name);
    if (!names) {
        in.servers[route->server]->server->report(list.text, names.error());
        co_return names.error();
    }
    for (const auto& native : *names) {
        if (shown(in, *op, list, route->server, native) == name) {
            co_return catalog::route{route->server, native, false};
        }
    }
    route->shortened = false; // it only looked like one
    co_return *route;
}

bool anyone_has(house& in, const operation& op, std::string_view capability) {
    if (capability.empty()) return true;
    const auto& all = op.scope.servers;
    return std::any_of(all.begin(), all.end(), [&](std::size_t server) {
        const auto* info = peer_of(in, op, server);
        return !info || catalog::has_capability(info->capabilities, capability);
    });
}

// The one that lists it, else the first with a template for it, is asked alone (decision 18): what
// it says of its resource, no other server may answer instead. Where nobody is known to have it,
// all that have resources, in order.
std::vector<std::size_t>
candidates_for_uri(house& in, const operation& op, const std::string& uri) {
    std::optional<std::size_t> fitting;
    std::vector<std::size_t> any;
    for (auto server : op.scope.servers) {
        const auto* info = peer_of(in, op, server);
        if (info && !catalog::has_capability(info->capabilities, "resources")) continue;
        auto from = viewpoint_of(in, op, server);
        const auto* list = in.lists.find(from, "resources");
        const auto* templates = in.lists.find(from, "resourceTemplates");
        bool listed =
            list != nullptr &&
            std::find(list->natives.begin(), list->natives.end(), uri) != list->natives.end();
        if (listed) return {server};
        bool fits =
            templates != nullptr &&
            std::any_of(templates->natives.begin(), templates->natives.end(), [&](const auto& t) {
                return t == uri || mcp::matches_template(t, uri);
            });
        if (fits && !fitting) fitting = server;
        any.push_back(server);
    }
    if (fitting) return {*fitting};
    return any;
}

} // namespace sluice::gateway
