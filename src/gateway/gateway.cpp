#include "gateway/gateway.hpp"

#include "aio/within.hpp"
#include "base/text.hpp"
#include "gateway/links.hpp"
#include "gateway/lists.hpp"
#include "gateway/orphans.hpp"
#include "gateway/record.hpp"
#include "gateway/relay.hpp"
#include "gateway/replicas.hpp"
#include "gateway/resuming.hpp"
#include "gateway/routing.hpp"
#include "gateway/subscriptions.hpp"
#include "gateway/targets.hpp"
#include "mcp/errors.hpp"

#include <algorithm>
#include <exception>

namespace sluice::gateway {

gateway::gateway(house& in) : in_(in), background_(in.loop.get_executor(), "gateway") {
    in.cache = std::make_unique<page_cache>(in);
}

base::result<catalog::scope>
gateway::scope_for(const policy::principal& who, std::string_view names) const {
    catalog::scope where;
    where.path = "/mcp";
    auto add = [&](std::size_t server) {
        if (!in_.authoriser.may(who, in_.names.server(server))) return false;
        if (std::find(where.servers.begin(), where.servers.end(), server) == where.servers.end()) {
            where.servers.push_back(server);
        }
        return true;
    };
    if (names.empty()) {
        for (std::size_t i = 0; i < in_.names.size(); ++i)
            add(i);
        return where;
    }
    auto parts = base::split(names, ',');
    for (auto raw : parts) {
        auto name = base::trim(raw);
        bool any = false;
        for (auto server : in_.names.find(name))
            any = add(server) || any;
        if (!any) {
            return base::fault(
                base::errc::not_found,
                "no MCP server or group is called '" + std::string(name) + "'"
            );
        }
    }
    std::sort(where.servers.begin(), where.servers.end());
    where.single = parts.size() == 1 && in_.names.is_server_name(base::trim(parts.front()));
    where.path += "/" + std::string(names);
    return where;
}

base::result<catalog::scope> gateway::narrow(catalog::scope where, std::string_view names) const {
    std::vector<std::size_t> kept;
    for (auto raw : base::split(names, ',')) {
        auto name = base::trim(raw);
        if (name.empty()) continue;
        auto meant = in_.names.find(name);
        bool any = false;
        for (auto server : meant) {
            bool here = std::find(where.servers.begin(), where.servers.end(), server) !=
                        where.servers.end();
            if (here) kept.push_back(server);
            any = any || here;
        }
        if (!any) {
            return base::fault(
                base::errc::not_found,
                "x-mcp-servers: no MCP server or group is called '" + std::string(name) + "' here"
            );
        }
    }
    std::sort(kept.begin(), kept.end());
    kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
    // A single-server endpoint that lost its server serves nothing, and does so as an aggregate.
    where.single = where.single && !kept.empty();
    where.servers = std::move(kept);
    return where;
}

void gateway::start(shared_operation op) {
    auto& host = *op->host;
    auto job = run(std::move(op));
    host.spawn(std::move(job));
}

aio::task<> gateway::run(shared_operation op) {
    co_await aio::keep_running_when_cancelled();
    op->began = aio::clock::now();
    // The front of an operation: whatever goes wrong in it, its host hears of it (and the log, by
    // the nursery).
    std::exception_ptr crash;
    try {
        if (!op->call->is_cancelled()) co_await walk(op);
    } catch (...) {
        crash = std::current_exception();
    }
    if (crash)
        deliver_error(
            *op, mcp::code_internal, "the gateway failed on this request; its log says how"
        );
    if (op->call->is_cancelled()) {
        op->outcome = "cancelled";
        in_.meters.cancelled();
    } else if (!op->call->out().done() && op->outcome == "cancelled") {
        op->call->out().forgo_final();
    }
    op->host->end_call(*op->call);
    record(in_, *op);
    if (crash) std::rethrow_exception(crash);
}

aio::task<> gateway::walk(shared_operation op) {
    const auto& method = *op->method;
    bool known = method.id != mcp::method::unknown && !method.capability.empty();
    if (!known || !anyone_has(in_, *op, method.capability)) {
        deliver_error(
            *op,
            mcp::code_method_not_found,
            "Method not found: " + base::clip(op->message->method_text())
        );
        co_return;
    }
    switch (method.how) {
    case mcp::handling::list:
        co_await run_list(in_, op);
        break;
    case mcp::handling::target:
        co_await run_target(in_, op);
        break;
    case mcp::handling::watch:
        co_await run_watch(in_, op);
        break;
    case mcp::handling::fan_out:
        co_await run_set_level(in_, op);
        break;
    case mcp::handling::local:
        break;
    }
}

aio::task<base::result<gateway::addressee>> gateway::addressee_of(
    std::shared_ptr<session::session> host, std::shared_ptr<const wire::message> m
) {
    addressee here;
    if (!host->is_kept()) co_return here;
    bool cancels = m->is_notification() && m->method_is("notifications/cancelled");
    auto id = cancels ? m->request_id_token() : m->id_token();
    if (!id || (!cancels && !m->is_response())) co_return here;
    if (is_about_ours(*host, *m)) co_return here;
    auto record = session::records::record_key(host->who().key);
    auto field = cancels ? session::session::call_field(*id) : session::session::ask_field(*id);
    auto& store = host->kept()->store();
    auto owner = co_await store.read_field(record, std::move(field));
    if (!owner) co_return owner.error();
    addressee out;
    if (!*owner) {
        auto session = co_await store.read(std::move(record));
        if (!session) co_return session.error();
        if (!*session) co_return base::fault(base::errc::not_found, "the session has ended");
        // Not written down, or not any more: whoever has it takes it, and nobody else.
        out.everyone = true;
        co_return out;
    }
    auto [replica, stream] = session::session::where_it_runs(**owner);
    if (in_.replicas.is_me(replica)) co_return here;
    auto alive = co_await in_.replicas.find(replica);
    bool dead = !alive && alive.error().code == base::errc::not_found;
    if (dead && !cancels)
        co_return base::fault(
            base::errc::unreachable,
            "the replica of the gateway that asked this cannot be reached; send the answer again",
            503
        );
    out.here = false;
    if (dead) out.orphaned = std::move(stream);
    out.replica = std::move(replica);
    co_return out;
}

aio::task<base::result<void>> gateway::cancel_orphan(
    std::shared_ptr<session::session> host,
    std::string stream,
    std::shared_ptr<const wire::message> cancel
) {
    constexpr auto patience = std::chrono::seconds(4);
    auto copy = co_await open_rest(in_, host, stream);
    bool gone = !copy && copy.error().code == base::errc::not_found;
    if (gone) co_return base::result<void>();
    if (!copy) co_return copy.error();
    // Its log is followed now, and is taken over as soon as that may be.
    auto id = cancel->request_id_token();
    auto until = aio::clock::now() + patience;
    while (!(*copy)->done() && !host->has_call(*id)) {
        if (aio::clock::now() >= until)
            co_return base::fault(base::errc::unreachable, "not taken over yet");
        co_await aio::pause(std::chrono::milliseconds(20));
    }
    if (host->has_call(*id)) {
        take(*host, *cancel);
    } else {
        auto reason = std::string(cancel->view(cancel->reason));
        co_await call_off_at_upstream(in_, host, std::move(stream), std::move(reason));
    }
    co_return base::result<void>();
}

bool gateway::waits_for(session::session& host, const wire::message& response) const {
    auto id = response.id_token();
    return id && host.questions().has(*id);
}

bool gateway::is_about_ours(session::session& host, const wire::message& message) const {
    if (message.is_response()) return waits_for(host, message);
    if (!message.is_notification() || !message.method_is("notifications/cancelled")) return false;
    auto id = message.request_id_token();
    return id && host.has_call(*id);
}

bool gateway::take_for_call(
    session::session& host, std::string_view upstream, const wire::message& said
) {
    return links_of(in_, host).take_for_call(upstream, said);
}

void gateway::take(
    session::session& host,
    const wire::message& message,
    const std::shared_ptr<const net::fields>& headers
) {
    if (message.is_response()) {
        if (!host.questions().answer(message)) in_.meters.stray_answer();
        return;
    }
    if (!message.is_notification()) return;
    if (message.method_is("notifications/roots/list_changed"))
        return links_of(in_, host).roots_changed(wire::rewrite(message, {}), headers);
    if (!message.method_is("notifications/cancelled")) return;
    auto id = message.request_id_token();
    if (!id) return;
    host.cancel(*id, std::string(message.view(message.reason)));
}

void gateway::listens(session::session& host) {
    links_of(in_, host).listen();
}

void gateway::learn_peers() {
    for (std::size_t i = 0; i < in_.servers.size(); ++i)
        meet(i, upstream::open_request());
}

void gateway::meet(std::size_t server, upstream::open_request request) {
    auto from = viewpoint_of(in_.names.server(server), in_.servers[server]->number, request);
    if (in_.known.is_meeting(from) || in_.known.find(from) != nullptr) return;
    in_.known.meet(from);
    auto job = learn_peer(server, std::move(from), std::move(request));
    background_.spawn(std::move(job));
}

aio::task<>
gateway::learn_peer(std::size_t server, catalog::viewpoint from, upstream::open_request request) {
    co_await aio::keep_running_when_cancelled();
    request.until = aio::clock::now() + in_.names.server(server).initialize_timeout;
    auto opened = co_await in_.servers[server]->server->open(std::move(request));
    in_.known.met(from);
    if (!opened) co_return;
    in_.known.learn(from, (*opened)->peer());
    if (!is_shared(in_.names.server(server))) co_await (*opened)->close();
}

aio::task<> gateway::settle() {
    background_.stop();
    co_await background_.join();
    co_await in_.cache->shut_down();
}

aio::task<> gateway::shut_down() {
    co_await settle();
    for (auto& one : in_.servers)
        co_await one->server->shut_down();
}

} // namespace sluice::gateway
