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

// What can be done by who runs the gateway, and by who calls.
base::fault not_looked_up(
    house& in, const mcp::method_info& list, std::size_t server, const base::fault& why
) {
    std::string_view word = is_tools(list) ? "tool" : "prompt";
    return {
        why.code,
        why.message + ", so the " + std::string(word) +
            " of this shortened name was not found; mend the server's list (or raise "
            "catalog.max_pages), or call the " +
            std::string(word) + " by its own name at /" + in.names.server(server).name + "/mcp"
    };
}

} // namespace

aio::task<base::result<catalog::route>>
find_named(house& in, shared_operation op, const mcp::method_info& list, std::string name) {
    auto route = in.names.resolve(op->scope, name, is_tools(list));
    if (route) co_return std::move(*route);
    auto bare = co_await find_bare(in, op, list, std::move(name));
    co_return bare;
}

aio::task<base::result<catalog::route>> look_up(
    house& in,
    shared_operation op,
    const mcp::method_info& list,
    catalog::route shortened,
    std::string name
) {
    auto server = shortened.server;
    std::optional<std::string> found;
    reading how_far;
    how_far.until = aio::clock::now() + in.names.server(server).max_timeout;
    how_far.enough = [&](const std::vector<std::string>& natives) {
        auto it = std::find_if(natives.begin(), natives.end(), [&](const auto& native) {
            return shown(in, *op, list, server, native) == name;
        });
        if (it != natives.end()) found = *it;
        return found.has_value();
    };
    const auto* known = in.lists.find(viewpoint_of(in, *op, server), list.list_key);
    if (known == nullptr || !how_far.enough(known->natives)) {
        auto read = co_await read_list(in, op, list, server, how_far);
        if (!read && read.error().code == base::errc::protocol) {
            in.forget_lists(server); // a page that was kept may be what does not fit
            co_return not_looked_up(in, list, server, read.error());
        }
        if (!read) co_return read.error();
    }
    if (found) shortened.native = std::move(*found);
    shortened.shortened = false; // without one it only looked like it
    co_return shortened;
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
