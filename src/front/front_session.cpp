// The session that a request names: known here, taken up from the store, or at home on another
// replica, which serves the request then. Spec: "Session Management"; decisions 2, 3 and 7.
#include "front/front.hpp"

namespace sluice::front {

namespace {

bool can_be_a_sessions(std::string_view version) {
    auto known = mcp::parse_revision(version);
    return known && *known <= mcp::latest_legacy;
}

} // namespace

// Unknown, ended, another key's and another endpoint's are one answer.
base::fault no_such_session(endpoint at) {
    auto text = at == endpoint::sse_messages
                    ? "no such session; it ended with its stream: open the stream again"
                    : "no such session; it ended or never was: begin with initialize";
    return {base::errc::not_found, text, 404};
}

refusal because_away(const base::fault& f, std::string id) {
    bool away = f.code == base::errc::unreachable || f.code == base::errc::timeout ||
                f.code == base::errc::protocol || f.code == base::errc::internal;
    if (!away) return because(f, std::move(id));
    if (f.http_status != 0) { // said by us, of a peer
        auto why = because(f, std::move(id));
        why.code = mcp::code_internal;
        why.retry_after = 1;
        return why;
    }
    auto why = because(
        503, "the gateway's store of sessions is away; try again in a moment", std::move(id)
    );
    why.code = mcp::code_internal;
    why.reason = "store_away";
    why.retry_after = 1;
    return why;
}

base::result<front::shared_session>
front::find_session(const net::request_head& head, const visit& v) {
    auto id = head.headers.get("mcp-session-id");
    if (!id)
        return base::fault(
            base::errc::invalid_request, "Mcp-Session-Id is missing; begin with initialize", 400
        );
    auto version = head.headers.get("mcp-protocol-version");
    if (version && !can_be_a_sessions(*version)) {
        return base::fault(
            base::errc::invalid_request,
            "MCP-Protocol-Version is not one this session can have; send what initialize agreed on",
            400
        );
    }
    auto host = through_.in().sessions.find(*id, v.who->id);
    if (!host) return shared_session();
    if (!serves(*host, v)) return no_such_session(v.at);
    return host;
}

// A session is bound to its endpoint; on another it does not exist.
bool front::serves(const session::session& host, const visit& v) const {
    bool legacy = v.at == endpoint::sse_messages;
    return host.who().scope == v.where.path && host.who().one_stream == legacy;
}

aio::task<front::shared_session>
front::session_of(net::exchange& http, visit& v, std::string id, std::string body) {
    auto host = find_session(http.head(), v);
    if (!host) {
        co_await turn_away(http, v, because(host.error(), std::move(id)));
        co_return nullptr;
    }
    auto found = std::move(*host);
    if (!found) {
        std::string token(http.head().headers.get("mcp-session-id").value_or(""));
        found = co_await adopt(http, v, std::move(token), id, body);
    }
    if (!found || !may_be_elsewhere(*found, v)) co_return found;
    auto here = co_await at_home(http, v, std::move(found), std::move(id), std::move(body));
    co_return here;
}

// What lives in one replica only may have come to it by a reload: then it has no home yet, or got
// one elsewhere while there was a copy of it here.
bool front::may_be_elsewhere(const session::session& host, const visit& v) const {
    if (!host.is_kept() || v.forwarded) return false;
    const auto& home = host.who().home;
    return home.empty() ? through_.lives_here_only(v.where) : !through_.in().replicas.is_me(home);
}

// The first that needs a home gives it one. A copy that is here meanwhile ends what it began.
aio::task<front::shared_session> front::at_home(
    net::exchange& http, const visit& v, shared_session host, std::string id, std::string body
) {
    auto& in = through_.in();
    auto record = session::records::record_key(host->who().key);
    for (;;) {
        auto other = co_await host->kept()->store().set_new(record, "home", in.replicas.self());
        if (!other) {
            bool gone = other.error().code == base::errc::not_found;
            auto why = gone ? because(no_such_session(v.at), std::move(id))
                            : because_away(other.error(), std::move(id));
            co_await turn_away(http, v, std::move(why));
            co_return nullptr;
        }
        host->settle_at(other->value_or(in.replicas.self()));
        if (in.replicas.is_me(host->who().home)) co_return host;
        session::registry::adopted where;
        where.home = host->who().home;
        auto moved = co_await serve_at_home(http, v, std::move(where), host->who().id, body);
        if (!moved) co_return nullptr;
    }
}

// True when the session has no home any more and this replica has become it; else the host has its
// answer.
aio::task<bool> front::serve_at_home(
    net::exchange& http,
    const visit& v,
    session::registry::adopted where,
    std::string token,
    std::string body
) {
    bool dead = co_await through_.in().replicas.may_take_over(where.home);
    if (!dead) {
        co_await pass_on(http, v, std::move(where.home), std::move(body));
        co_return false;
    }
    if (where.one_stream) co_return true; // it is found nowhere then
    auto& kept = *through_.in().sessions.kept();
    auto moved = co_await kept.move_home(std::move(token), std::move(where.home));
    if (!moved) {
        co_await turn_away(http, v, because_away(moved.error(), std::string()));
        co_return false;
    }
    co_return true;
}

aio::task<front::shared_session>
front::adopt(net::exchange& http, visit& v, std::string token, std::string id, std::string body) {
    auto known = co_await through_.in().sessions.adopt(token, v.who->id);
    if (!known) {
        co_await turn_away(http, v, because_away(known.error(), std::move(id)));
        co_return nullptr;
    }
    if (!known->home.empty()) {
        auto moved = co_await serve_at_home(http, v, *known, token, body);
        if (!moved) co_return nullptr;
        known = co_await through_.in().sessions.adopt(std::move(token), v.who->id);
    }
    // Another replica was quicker to become it; a stream that died has no other.
    bool moved_elsewhere = known && !known->home.empty() && !known->one_stream;
    if (moved_elsewhere) {
        co_await pass_on(http, v, std::move(known->home), std::move(body));
        co_return nullptr;
    }
    auto here = known ? std::move(known->here) : nullptr;
    if (here && serves(*here, v)) co_return here;
    co_await turn_away(http, v, because(no_such_session(v.at), std::move(id)));
    co_return nullptr;
}

aio::task<base::result<bool>> front::hand_over(
    const net::request_head& head, const visit& v, shared_session host, shared_message m
) {
    gateway::gateway::addressee to;
    if (!v.forwarded) {
        auto found = co_await through_.addressee_of(host, m);
        if (!found) co_return found.error();
        to = std::move(*found);
    }
    bool taken = to.here && (!m->is_response() || through_.waits_for(*host, *m));
    if (taken) through_.take(*host, *m, v.upward);
    bool heard = true;
    if (!to.orphaned.empty()) {
        auto done = co_await through_.cancel_orphan(host, std::move(to.orphaned), m);
        heard = taken = done.ok();
    } else if (!to.here) {
        auto told = co_await tell(head, v, std::move(to.replica), m->bytes);
        heard = told.ok();
        taken = told && *told;
    } else if (to.everyone) {
        auto all = co_await tell_others(head, v, m->bytes);
        heard = all.acknowledged == all.asked;
        taken = taken || all.taken;
    }
    if (!heard)
        co_return base::fault(
            base::errc::unreachable,
            "another replica of the gateway did not take it; send it again",
            503
        );
    // Counted where the host brought it, once.
    if (!taken && !v.forwarded) through_.take(*host, *m);
    co_return taken;
}

} // namespace sluice::front
