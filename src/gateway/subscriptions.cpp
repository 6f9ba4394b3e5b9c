#include "gateway/subscriptions.hpp"

#include "gateway/links.hpp"
#include "gateway/relay.hpp"
#include "gateway/routing.hpp"
#include "gateway/targets.hpp"
#include "mcp/errors.hpp"

#include <algorithm>
#include <optional>

namespace sluice::gateway {

namespace {

// Of several upstreams only those that take subscriptions, or are not known yet.
std::vector<std::size_t> takers(house& in, const operation& op, const std::string& uri) {
    auto found = candidates_for_uri(in, op, uri);
    if (op.scope.single) return found;
    std::erase_if(found, [&](std::size_t server) {
        const auto* info = peer_of(in, op, server);
        return info && !has_flag(info->capabilities, "resources", "subscribe");
    });
    return found;
}

aio::task<> subscribe(house& in, shared_operation op, std::string uri) {
    auto candidates = takers(in, *op, uri);
    if (candidates.empty()) {
        deliver_error(*op, mcp::code_method_not_found, "no server here takes subscriptions");
        co_return;
    }
    auto& watches = links_of(in, *op->host).watches();
    uri_hooks hooks;
    hooks.before = [&in, &watches, uri](std::size_t server) {
        watches.subscribing(in.servers[server], uri);
    };
    hooks.after = [&in, &watches, uri](std::size_t server, bool done) {
        watches.subscribed(in.servers[server], uri, done);
    };
    co_await call_by_uri(in, op, std::move(uri), std::move(candidates), std::move(hooks));
}

// Nothing for one that the configuration has no more.
std::optional<std::size_t> index_of(const house& in, const shared_served& server) {
    auto it = std::find(in.servers.begin(), in.servers.end(), server);
    if (!server || it == in.servers.end()) return std::nullopt;
    return static_cast<std::size_t>(it - in.servers.begin());
}

// It ends for this host at once, whatever the upstream says; a shared one goes on hearing of what
// other sessions are subscribed to.
aio::task<> unsubscribe(house& in, shared_operation op, std::string uri) {
    auto& watches = links_of(in, *op->host).watches();
    auto where = watches.subscribed_at(uri);
    bool here = where != nullptr;
    if (!here) where = co_await watches.subscribed_elsewhere(uri);
    auto at = index_of(in, where);
    std::vector<std::size_t> candidates = {};
    if (at) {
        op->server = in.names.server(*at).name;
        // A process that another replica's sessions share is left by that replica.
        bool left = !here && is_shared(in.servers[*at]->settings());
        if (left || !watches.unsubscribed(in.servers[*at], uri)) {
            watches.unsubscribing(in.servers[*at], uri);
            finish(*op, wire::make_result(op->host_id(), "{}"));
            co_return;
        }
        candidates.push_back(*at);
    } else {
        candidates = takers(in, *op, uri);
        bool any = !candidates.empty();
        // What other sessions of a shared process are subscribed to stays.
        std::erase_if(candidates, [&](std::size_t server) {
            const auto& one = *in.servers[server];
            return is_shared(one.settings()) && one.peers.subscribers.contains(uri);
        });
        if (any && candidates.empty()) {
            finish(*op, wire::make_result(op->host_id(), "{}"));
            co_return;
        }
    }
    uri_hooks hooks;
    hooks.before = [&in, &watches, uri](std::size_t server) {
        watches.unsubscribing(in.servers[server], uri);
    };
    co_await call_by_uri(in, op, std::move(uri), std::move(candidates), std::move(hooks));
}

} // namespace

aio::task<> run_watch(house& in, shared_operation op) {
    auto uri = op->message->string_at(op->message->uri);
    if (!uri) {
        deliver_error(*op, mcp::code_invalid_params, "params need a string uri");
        co_return;
    }
    // A session that no id leads to ends with this request: nothing could ever be told to it.
    if (op->host->who().id.empty()) {
        deliver_error(*op, mcp::code_method_not_found, "a subscription needs a session");
        co_return;
    }
    if (op->method->id == mcp::method::resources_subscribe) {
        co_await subscribe(in, op, std::move(*uri));
    } else {
        co_await unsubscribe(in, op, std::move(*uri));
    }
}

} // namespace sluice::gateway
