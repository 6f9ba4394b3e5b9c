// `initialize`: version negotiation, the merged description of many upstreams, or the one
// upstream's own. Spec: Lifecycle/Initialization; decision 8.
#include "aio/within.hpp"
#include "catalog/instructions.hpp"
#include "gateway/gateway.hpp"
#include "gateway/links.hpp"
#include "gateway/replicas.hpp"
#include "mcp/errors.hpp"

#include <algorithm>

namespace sluice::gateway {

namespace {

constexpr std::string_view own_info = R"({"name":"sluice","version":")" SLUICE_VERSION R"("})";
// What an upstream that has not been met counts as having.
constexpr std::string_view assumed_capabilities = R"({"tools":{},"prompts":{},"resources":{}})";
constexpr catalog::deliverable can_deliver = {true, true};

std::string initialize_result(
    mcp::revision r,
    std::string_view capabilities,
    std::string_view server_info,
    std::string_view instructions
) {
    std::string out = "{\"protocolVersion\":\"";
    out.append(mcp::text_of(r)).append("\",\"capabilities\":").append(capabilities);
    out.append(",\"serverInfo\":").append(server_info);
    if (!instructions.empty()) out += ",\"instructions\":" + wire::quote(instructions);
    return out + "}";
}

std::string text_or(const wire::message& m, wire::span where, std::string_view otherwise) {
    return where.present() ? std::string(m.view(where)) : std::string(otherwise);
}

hello refuse(const wire::message& m, const base::fault& f) {
    hello out;
    out.http_status = f.http_status != 0 ? f.http_status : mcp::http_status_of(f);
    out.answer = wire::make_error(m.view(m.id), mcp::rpc_code_of(f), f.message);
    return out;
}

// What `initialize` says of the host; whose session it becomes is the caller's to add.
base::result<session::identity> introduction(const wire::message& message) {
    auto asked = message.string_at(message.protocol_version);
    if (!asked)
        return base::fault(
            base::errc::invalid_params, "initialize needs params.protocolVersion, a string"
        );
    session::identity said;
    said.revision = mcp::negotiate(*asked);
    said.capabilities = text_or(message, message.capabilities, "{}");
    said.client_info = text_or(message, message.client_info, "{}");
    return said;
}

} // namespace

aio::task<hello> gateway::greet(
    std::shared_ptr<const wire::message> message,
    policy::caller who,
    catalog::scope where,
    std::shared_ptr<const net::fields> headers
) {
    auto said = introduction(*message);
    if (!said) co_return refuse(*message, said.error());
    said->principal = who->id;
    said->scope = where.path;
    if (lives_here_only(where)) said->home = in_.replicas.self();
    auto opened = co_await open_session(std::move(*said));
    if (!opened) co_return refuse(*message, opened.error());
    auto out = co_await welcome(std::move(message), *opened, std::move(where), std::move(headers));
    if (out.host) co_return out;
    [[maybe_unused]] auto ended = co_await in_.sessions.end(*opened);
    co_return out;
}

aio::task<base::result<std::shared_ptr<session::session>>>
gateway::open_session(session::identity who) {
    auto principal = who.principal;
    if (who.one_stream && in_.sessions.shared()) who.home = in_.replicas.self();
    auto opened = in_.sessions.open(std::move(who));
    if (!opened || !in_.sessions.shared()) co_return opened;
    // Any replica may be asked for it as soon as its id is known.
    auto kept = co_await in_.sessions.kept()->create((*opened)->who());
    if (!kept && kept.error().code == base::errc::too_many) {
        bool room = co_await in_.sessions.make_room_in_store(std::move(principal));
        if (room) kept = co_await in_.sessions.kept()->create((*opened)->who());
    }
    if (kept) co_return opened;
    (*opened)->end_here();
    auto why = kept.error();
    bool away = why.code == base::errc::unreachable || why.code == base::errc::timeout;
    if (!away) co_return why;
    // What the store's client says names addresses.
    co_return base::fault(
        base::errc::unreachable,
        "the gateway's store of sessions is away; try again in a moment",
        503
    );
}

bool gateway::lives_here_only(const catalog::scope& where) const {
    if (!in_.sessions.shared()) return false;
    return std::any_of(where.servers.begin(), where.servers.end(), [&](std::size_t s) {
        return in_.servers[s]->server->is_bound_here();
    });
}

aio::task<hello> gateway::greet_in(
    std::shared_ptr<const wire::message> message,
    std::shared_ptr<session::session> host,
    catalog::scope where,
    std::shared_ptr<const net::fields> headers
) {
    auto said = introduction(*message);
    if (!said) co_return refuse(*message, said.error());
    host->introduce(said->revision, std::move(said->capabilities), std::move(said->client_info));
    auto out =
        co_await welcome(std::move(message), std::move(host), std::move(where), std::move(headers));
    co_return out;
}

aio::task<hello> gateway::welcome(
    std::shared_ptr<const wire::message> message,
    std::shared_ptr<session::session> host,
    catalog::scope where,
    std::shared_ptr<const net::fields> headers
) {
    if (where.single) {
        auto single =
            co_await greet_single(message, std::move(host), std::move(where), std::move(headers));
        co_return single;
    }
    auto since = aio::clock::now();
    co_await know_peers(where, *host, headers);
    hello out;
    out.waited = aio::clock::now() - since;
    out.host = host;
    out.answer = wire::make_result(
        message->view(message->id), describe_aggregate(where, *host, headers.get())
    );
    co_return out;
}

aio::task<hello> gateway::greet_single(
    std::shared_ptr<const wire::message> message,
    std::shared_ptr<session::session> host,
    catalog::scope where,
    std::shared_ptr<const net::fields> headers
) {
    auto server = where.servers.front();
    const auto& settings = in_.names.server(server);
    auto since = aio::clock::now();
    auto until = since + settings.initialize_timeout;
    auto link =
        co_await links_of(in_, *host).ensure(in_.servers[server], std::move(headers), until);
    hello out;
    out.waited = aio::clock::now() - since;
    if (!link) {
        auto how = base::outcome_of(link.error());
        out.http_status = mcp::http_status_of(how, link.error());
        auto data = "{\"server\":" + wire::quote(settings.name) + ",\"outcome\":\"" +
                    std::string(name_of(how)) + "\"}";
        out.answer = wire::make_error(
            message->view(message->id),
            mcp::code_internal,
            mcp::sentence_for(settings.name, how, link.error()),
            data
        );
        co_return out;
    }
    const auto& peer = (*link)->peer();
    std::vector<std::string_view> each = {peer.capabilities};
    auto capabilities = catalog::merge_capabilities(each, can_deliver);
    auto said = settings.instructions.empty() ? peer.instructions : settings.instructions;
    out.host = host;
    out.answer = wire::make_result(
        message->view(message->id),
        initialize_result(host->who().revision, capabilities, peer.server_info, said)
    );
    co_return out;
}

const upstream::peer_info* gateway::seen_by(
    const session::session& host, const net::fields* headers, std::size_t server
) const {
    const auto& settings = in_.names.server(server);
    auto request = opening_for(settings, host.who(), headers);
    return in_.known.find(viewpoint_of(settings, in_.servers[server]->number, request));
}

aio::task<> gateway::know_peers(
    const catalog::scope& where,
    const session::session& host,
    const std::shared_ptr<const net::fields>& headers
) {
    std::vector<catalog::viewpoint> strange;
    for (auto server : where.servers) {
        const auto& settings = in_.names.server(server);
        auto request = opening_for(settings, host.who(), headers.get());
        auto from = viewpoint_of(settings, in_.servers[server]->number, request);
        if (in_.known.find(from) != nullptr) continue;
        meet(server, std::move(request));
        strange.push_back(std::move(from));
    }
    auto until = aio::clock::now() + in_.names.rules().initialize_wait;
    // Short naps instead of a latch per set of peers: this happens once or twice in a process's
    // life.
    while (aio::clock::now() < until) {
        bool meeting = std::any_of(strange.begin(), strange.end(), [&](const auto& from) {
            return in_.known.is_meeting(from);
        });
        if (!meeting) break;
        co_await aio::pause(std::chrono::milliseconds(5));
    }
}

std::string gateway::describe_aggregate(
    const catalog::scope& where, const session::session& host, const net::fields* headers
) const {
    std::vector<std::string_view> capabilities;
    std::vector<catalog::section> sections;
    for (auto server : where.servers) {
        const auto* info = seen_by(host, headers, server);
        const auto& settings = in_.names.server(server);
        capabilities.push_back(info ? std::string_view(info->capabilities) : assumed_capabilities);
        auto said =
            settings.instructions.empty() && info ? info->instructions : settings.instructions;
        sections.push_back({settings.prefix(), said});
    }
    // One server behind an aggregate is still an aggregate: its experimental extensions are not
    // ours.
    if (capabilities.size() == 1) capabilities.emplace_back("{}");
    const auto& rules = in_.names.rules();
    auto merged = rules.merge_instructions
                      ? catalog::merge_instructions(sections, rules.instructions_cap)
                      : std::string();
    return initialize_result(
        host.who().revision,
        catalog::merge_capabilities(capabilities, can_deliver),
        own_info,
        merged
    );
}

} // namespace sluice::gateway
