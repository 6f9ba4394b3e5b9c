// POST: one message of a host, its body received within the bounds, then a session's request, an
// `initialize`, or something to take note of. Spec: Streamable HTTP, "Sending Messages to the
// Server"; decision 7.
#include "base/text.hpp"
#include "front/front.hpp"

#include <algorithm>

namespace sluice::front {

namespace {

// A modern claim: in the body, or by the header alone. Never served yet; the answer makes dual-era
// clients fall back to `initialize` (a 400 without one of the modern error codes).
bool is_modern(const net::request_head& head, const wire::message& m) {
    auto header = head.headers.get("mcp-protocol-version");
    bool by_header = header && mcp::parse_revision(*header) == mcp::revision::r5;
    return by_header || m.meta_protocol_version.present();
}

// Names the setting, which the listener does not know.
void explain_body(refusal& why, base::errc code, const net::http_limits& limits) {
    if (code == base::errc::too_large)
        why.text = "the body is larger than limits.body allows, " +
                   std::to_string(limits.max_body_bytes) + " bytes";
    if (code == base::errc::timeout)
        why.text = "the body was not whole within timeouts.body, " +
                   std::to_string(limits.body_timeout.count()) + " ms";
}

} // namespace

std::shared_ptr<sys::budget::share> front::make_room(const net::request_head& head) {
    auto& in = through_.in();
    // Before a byte is read: a body of unknown length may become as long as any.
    auto length = base::parse_unsigned(head.headers.get("content-length").value_or(""));
    auto bytes = std::min<std::size_t>(
        length.value_or(settings_.limits.max_body_bytes), settings_.limits.max_body_bytes
    );
    return in.bodies.take(bytes);
}

aio::task<std::optional<std::string>> front::receive(net::exchange& http, visit& v) {
    v.held = make_room(http.head());
    if (!v.held) {
        v.headers.emplace_back("Retry-After", "1");
        auto why = because(
            503,
            "the gateway holds as many bytes of messages as limits.inflight_bytes allows; try again"
        );
        why.code = mcp::code_internal;
        co_await turn_away(http, v, std::move(why));
        co_return std::nullopt;
    }
    auto body = co_await http.read_body();
    if (!body) {
        auto why = because(body.error());
        if (body.error().code == base::errc::timeout) why.status = 408;
        if (body.error().code == base::errc::closed) why.status = 400; // the host's own doing
        explain_body(why, body.error().code, settings_.limits);
        co_await turn_away(http, v, std::move(why));
        co_return std::nullopt;
    }
    co_return std::move(*body);
}

aio::task<front::shared_message>
front::read_message(net::exchange& http, const visit& v, std::string body) {
    std::string readable_id;
    auto parsed = wire::parse_message(std::move(body), {}, &readable_id);
    if (parsed) co_return std::make_shared<const wire::message>(std::move(*parsed));
    auto why = because(parsed.error(), std::move(readable_id));
    why.status = 400;
    why.code = mcp::rpc_code_of(parsed.error());
    co_await turn_away(http, v, std::move(why));
    co_return nullptr;
}

aio::task<> front::serve_post(net::exchange& http, visit v) {
    const auto& headers = http.head().headers;
    auto type = headers.get("content-type");
    if (!type || !is_json(*type)) {
        co_await turn_away(http, v, because(415, "Content-Type must be application/json"));
        co_return;
    }
    if (!accepts(headers, "application/json") || !accepts(headers, "text/event-stream")) {
        auto why = because(406, "Accept must list application/json and text/event-stream");
        co_await turn_away(http, v, std::move(why));
        co_return;
    }
    auto body = co_await receive(http, v);
    if (!body) co_return;
    if (!v.said_by.empty()) {
        co_await take_for_call(http, v, std::move(*body));
        co_return;
    }
    if (wire::looks_like_batch(*body)) {
        co_await serve_batch(http, std::move(v), std::move(*body));
    } else {
        co_await serve_message(http, std::move(v), std::move(*body));
    }
}

aio::task<> front::serve_message(net::exchange& http, visit v, std::string body) {
    auto m = co_await read_message(http, v, std::move(body));
    if (!m) co_return;
    auto id = m->id.present() ? std::string(m->view(m->id)) : std::string();
    if (is_modern(http.head(), *m)) {
        auto why = because(
            400,
            "protocol revision 2026-07-28 is not served here; open a session with initialize (up "
            "to 2025-11-25)",
            std::move(id)
        );
        co_await turn_away(http, v, std::move(why));
        co_return;
    }
    if (m->is_request() && m->method_is("initialize")) {
        co_await serve_initialize(http, std::move(v), std::move(m));
        co_return;
    }
    bool without = !http.head().headers.get("mcp-session-id") && m->is_request() &&
                   through_.in().sessions.bounds().without_id == session::sessionless::serve;
    if (without) {
        co_await serve_without_session(http, std::move(v), std::move(m));
        co_return;
    }
    shared_session host;
    if (!m->is_request()) host = session_it_concerns(http.head(), v, *m);
    if (!host) host = co_await session_of(http, v, std::move(id), text_for_others(*m));
    if (!host) co_return;
    if (m->is_request()) {
        co_await serve_request(http, std::move(v), std::move(host), std::move(m));
    } else {
        co_await serve_note(http, std::move(v), std::move(host), std::move(m));
    }
}

// What began here ends here, wherever the session has its home by now.
front::shared_session front::session_it_concerns(
    const net::request_head& head, const visit& v, const wire::message& note
) {
    auto host = find_session(head, v);
    if (host && *host && through_.is_about_ours(**host, note)) return std::move(*host);
    return nullptr;
}

std::string front::text_for_others(const wire::message& m) const {
    return through_.in().sessions.shared() ? m.bytes : std::string();
}

// 202 says that it has been handed over: here, or to the replica it is for.
aio::task<> front::serve_note(net::exchange& http, visit v, shared_session host, shared_message m) {
    auto done = co_await hand_over(http.head(), v, std::move(host), std::move(m));
    if (done) {
        int status = *done || !v.forwarded ? 202 : nobody_waits;
        co_await answer_empty(http, status, std::move(v.headers));
    } else if (done.error().code == base::errc::not_found) {
        co_await turn_away(http, v, because(no_such_session(v.at)));
    } else {
        co_await turn_away(http, v, because_away(done.error(), std::string()));
    }
}

aio::task<> front::serve_initialize(net::exchange& http, visit v, shared_message m) {
    auto endpoint = v.where.path;
    auto began = aio::clock::now();
    auto hello = co_await through_.greet(std::move(m), v.who, std::move(v.where), v.upward);
    through_.record_greeting(hello, {*v.who, endpoint, http.arrived(), began});
    if (hello.host) v.headers.emplace_back("Mcp-Session-Id", hello.host->who().id);
    co_await answer_json(http, hello.http_status, std::move(hello.answer), std::move(v.headers));
}

base::result<std::shared_ptr<const gateway::operation>> front::begin(
    const visit& v,
    shared_session host,
    std::shared_ptr<session::stream> out,
    shared_message m,
    std::uint32_t number,
    aio::instant arrived
) {
    auto id = m->id_token();
    auto call = host->begin_call(std::move(*id), std::move(out), number);
    if (!call) return call.error();
    auto op = std::make_shared<gateway::operation>();
    op->under = v.under;
    op->host = std::move(host);
    op->call = std::move(*call);
    op->scope = v.where;
    op->caller = v.who;
    op->method = &mcp::describe(m->method_text());
    op->message = std::move(m);
    op->headers = v.upward;
    op->held = v.held;
    op->arrived = arrived;
    std::shared_ptr<const gateway::operation> started = op;
    through_.start(std::move(op));
    return started;
}

aio::task<>
front::serve_request(net::exchange& http, visit v, shared_session host, shared_message m) {
    auto out = host->open_stream(1);
    auto id = std::string(m->view(m->id));
    auto begun = begin(v, host, out, std::move(m), 0, http.arrived());
    if (!begun) {
        host->drop_stream(*out);
        auto why = because(begun.error(), std::move(id));
        if (begun.error().code == base::errc::too_many) why.status = 429;
        why.code = mcp::code_internal;
        co_await turn_away(http, v, std::move(why));
        co_return;
    }
    stream_rules rules{settings_, host->who().revision, false, std::move(v.headers)};
    if (v.debug) rules.explained = std::move(*begun);
    co_await answer_stream(http, std::move(host), std::move(out), std::move(rules));
}

aio::task<> front::serve_without_session(net::exchange& http, visit v, shared_message m) {
    session::identity who;
    who.principal = v.who->id;
    who.scope = v.where.path;
    auto version = http.head().headers.get("mcp-protocol-version");
    auto known =
        version ? mcp::parse_revision(*version) : std::optional(mcp::assumed_without_header);
    if (!known) {
        auto id = std::string(m->view(m->id));
        auto why = because(
            400,
            "MCP-Protocol-Version is unknown; 2024-11-05 to 2025-11-25 are served",
            std::move(id)
        );
        co_await turn_away(http, v, std::move(why));
        co_return;
    }
    who.revision = *known;
    auto opened = through_.in().sessions.open_throw_away(std::move(who));
    if (!opened) {
        auto why = because(opened.error(), std::string(m->view(m->id)));
        why.code = mcp::code_internal;
        co_await turn_away(http, v, std::move(why));
        co_return;
    }
    const auto& host = *opened;
    co_await serve_request(http, std::move(v), host, std::move(m));
    host->end();
}

} // namespace sluice::front
