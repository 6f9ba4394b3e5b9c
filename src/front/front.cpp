#include "front/front.hpp"

#include "base/text.hpp"
#include "mcp/errors.hpp"

#include <algorithm>
#include <array>

namespace sluice::front {

namespace {

constexpr std::string_view session_header = "mcp-session-id";
constexpr std::string_view version_header = "mcp-protocol-version";

bool any_forwards(gateway::gateway& through) {
    const auto& names = through.in().names;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (!names.server(i).extra_headers.empty()) return true;
    }
    return false;
}

// A header that decides something may come once: who stands before us may have read the other one.
std::optional<std::string_view> doubled(const net::request_head& head) {
    constexpr std::array<std::string_view, 8> deciding = {
        "origin",
        "authorization",
        session_header,
        version_header,
        "x-sluice-api-key",
        "x-litellm-api-key",
        "x-mcp-servers",
        "last-event-id"
    };
    for (auto name : deciding) {
        if (head.headers.count(name) > 1) return name;
    }
    return std::nullopt;
}

bool wants_debug(const net::request_head& head) {
    auto asked = head.headers.get("x-sluice-debug");
    if (!asked) asked = head.headers.get("x-litellm-mcp-debug");
    return asked &&
           (base::iequals(*asked, "true") || *asked == "1" || base::iequals(*asked, "yes"));
}

int status_of(const base::fault& f) {
    return f.http_status != 0 ? f.http_status : mcp::http_status_of(f);
}

// A modern claim: in the body, or by the header alone. Never served yet; the answer makes dual-era
// clients fall back to `initialize` (a 400 without one of the modern error codes).
bool is_modern(const net::request_head& head, const wire::message& m) {
    auto header = head.headers.get(version_header);
    bool by_header = header && mcp::parse_revision(*header) == mcp::revision::r5;
    return by_header || m.meta_protocol_version.present();
}

} // namespace

front::front(gateway::gateway& through, const policy::keyring& keys, settings from, bool loopback)
    : through_(through), keys_(keys), settings_(std::move(from)), guard_(settings_, loopback),
      forwards_headers_(any_forwards(through)) {}

extra_headers front::cors(const net::request_head& head) const {
    extra_headers out;
    auto origin = head.headers.get("origin");
    if (!origin || !guard_.origin_allowed(*origin)) return out;
    out.emplace_back("Access-Control-Allow-Origin", std::string(*origin));
    out.emplace_back("Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate");
    out.emplace_back("Vary", "Origin");
    return out;
}

aio::task<> front::serve(net::exchange& http) {
    const auto& method = http.head().method;
    if (method == "OPTIONS") {
        co_await serve_options(http);
        co_return;
    }
    auto v = co_await admit(http);
    if (!v) {
        through_.in().meters.refused(name_of(v.error().code));
        co_return; // admit has answered
    }
    if (v->at != endpoint::streamable) {
        co_await serve_legacy(http, std::move(*v));
    } else if (method == "POST") {
        co_await serve_post(http, std::move(*v));
    } else if (method == "GET") {
        co_await serve_get(http, std::move(*v));
    } else if (method == "DELETE") {
        co_await serve_delete(http, std::move(*v));
    } else {
        v->headers.emplace_back("Allow", "GET, POST, DELETE, OPTIONS");
        co_await refuse(
            http, 405, mcp::code_invalid_request, "Method Not Allowed", std::string(), v->headers
        );
    }
}

aio::task<> front::serve_options(net::exchange& http) {
    auto checked = guard_.check(http.head());
    if (!checked) {
        co_await refuse(
            http,
            403,
            mcp::code_invalid_request,
            checked.error().message,
            std::string(),
            extra_headers()
        );
        co_return;
    }
    auto headers = cors(http.head());
    headers.emplace_back("Allow", "GET, POST, DELETE, OPTIONS");
    if (http.head().headers.get("origin")) {
        headers.emplace_back("Access-Control-Allow-Methods", "GET, POST, DELETE, OPTIONS");
        auto asked = http.head().headers.get("access-control-request-headers");
        if (asked) headers.emplace_back("Access-Control-Allow-Headers", std::string(*asked));
        headers.emplace_back("Access-Control-Max-Age", "600");
    }
    co_await answer_empty(http, 204, std::move(headers));
}

// How admission and routing were resolved, in words; names only, never a credential.
void front::explain(visit& v, const net::request_head& head) const {
    std::string by = "nobody is asked";
    if (!keys_.is_open()) {
        bool own = head.headers.get("x-sluice-api-key").has_value();
        bool alias = head.headers.get("x-litellm-api-key").has_value();
        by = "key '" + v.who->name + "' from " +
             (own     ? "x-sluice-api-key"
              : alias ? "x-litellm-api-key"
                      : "Authorization");
    }
    std::vector<std::string> servers;
    servers.reserve(v.where.servers.size());
    for (auto server : v.where.servers)
        servers.push_back(through_.in().names.server(server).name);
    v.headers.emplace_back("X-Sluice-Debug-Auth", by);
    v.headers.emplace_back(
        "X-Sluice-Debug-Endpoint", v.where.path + (v.where.single ? " (single)" : " (aggregate)")
    );
    v.headers.emplace_back("X-Sluice-Debug-Servers", base::join(servers, ","));
}

aio::task<base::result<front::visit>> front::admit(net::exchange& http) {
    const auto& head = http.head();
    visit v;
    auto found = find_route(head.path(), settings_.mount_path);
    base::result<void> ok;
    if (found) v.at = found->at;
    if (!found) {
        ok = base::fault(
            base::errc::not_found, "no such endpoint; MCP is served at /mcp and /mcp/{server}", 404
        );
    } else if (auto twice = doubled(head)) {
        ok = base::fault(
            base::errc::invalid_request,
            "the header " + std::string(*twice) + " came more than once",
            400
        );
    } else {
        ok = guard_.check(head);
    }
    if (ok) {
        auto key = policy::presented_key(
            head.headers.get("x-sluice-api-key"),
            head.headers.get("x-litellm-api-key"),
            head.headers.get("authorization")
        );
        v.who = keys_.find(key);
        if (!v.who) {
            ok = base::fault(
                base::errc::unauthorized,
                "a valid key is needed: send x-sluice-api-key, or Authorization: Bearer",
                401
            );
            v.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"sluice\"");
        }
    }
    for (auto& header : cors(head))
        v.headers.push_back(std::move(header));
    if (ok) {
        auto where = through_.scope_for(*v.who, found->names);
        auto narrowing = head.headers.get("x-mcp-servers");
        if (where && narrowing && found->names.empty())
            where = through_.narrow(std::move(*where), *narrowing);
        if (where) {
            v.where = std::move(*where);
        } else {
            ok = where.error();
        }
    }
    if (!ok) {
        auto f = ok.error();
        co_await refuse(
            http,
            status_of(f),
            mcp::code_invalid_request,
            f.message,
            std::string(),
            std::move(v.headers)
        );
        co_return f;
    }
    if (settings_.debug_header && wants_debug(head)) explain(v, head);
    if (forwards_headers_) v.upward = std::make_shared<const net::fields>(head.headers);
    co_return v;
}

base::result<std::shared_ptr<session::session>>
front::find_session(const net::request_head& head, const visit& v) {
    auto id = head.headers.get(session_header);
    if (!id)
        return base::fault(
            base::errc::invalid_request, "Mcp-Session-Id is missing; begin with initialize", 400
        );
    auto version = head.headers.get(version_header);
    if (version) {
        auto known = mcp::parse_revision(*version);
        if (!known || *known > mcp::latest_legacy) {
            return base::fault(
                base::errc::invalid_request,
                "MCP-Protocol-Version is not one this session can have",
                400
            );
        }
    }
    auto host = through_.in().sessions.find(*id, v.who->id);
    // A session is bound to its endpoint; on another it does not exist.
    if (!host || host->who().scope != v.where.path || host->who().one_stream) {
        return base::fault(
            base::errc::not_found,
            "no such session; it ended or never was: begin with initialize",
            404
        );
    }
    return host;
}

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
        co_await refuse(
            http,
            503,
            mcp::code_internal,
            "the gateway holds as many bytes of messages as limits.inflight_bytes allows; try "
            "again",
            std::string(),
            v.headers
        );
        co_return std::nullopt;
    }
    auto body = co_await http.read_body();
    if (!body) {
        int status =
            body.error().code == base::errc::timeout ? 408 : mcp::http_status_of(body.error());
        co_await refuse(
            http, status, mcp::code_invalid_request, body.error().message, std::string(), v.headers
        );
        co_return std::nullopt;
    }
    co_return std::move(*body);
}

aio::task<> front::serve_post(net::exchange& http, visit v) {
    const auto& headers = http.head().headers;
    auto type = headers.get("content-type");
    if (!type || !is_json(*type)) {
        co_await refuse(
            http,
            415,
            mcp::code_invalid_request,
            "Content-Type must be application/json",
            std::string(),
            v.headers
        );
        co_return;
    }
    if (!accepts(headers, "application/json") || !accepts(headers, "text/event-stream")) {
        co_await refuse(
            http,
            406,
            mcp::code_invalid_request,
            "Accept must list application/json and text/event-stream",
            std::string(),
            v.headers
        );
        co_return;
    }
    auto body = co_await receive(http, v);
    if (!body) co_return;
    if (wire::looks_like_batch(*body)) {
        co_await serve_batch(http, std::move(v), std::move(*body));
    } else {
        co_await serve_message(http, std::move(v), std::move(*body));
    }
}

aio::task<> front::serve_message(net::exchange& http, visit v, std::string body) {
    std::string readable_id;
    auto parsed = wire::parse_message(std::move(body), {}, &readable_id);
    if (!parsed) {
        const auto& f = parsed.error();
        co_await refuse(
            http, 400, mcp::rpc_code_of(f), f.message, std::move(readable_id), v.headers
        );
        co_return;
    }
    auto m = std::make_shared<const wire::message>(std::move(*parsed));
    auto id = m->id.present() ? std::string(m->view(m->id)) : std::string();
    if (is_modern(http.head(), *m)) {
        co_await refuse(
            http,
            400,
            mcp::code_invalid_request,
            "protocol revision 2026-07-28 is not served here; open a session with initialize (up "
            "to 2025-11-25)",
            std::move(id),
            v.headers
        );
        co_return;
    }
    if (m->is_request() && m->method_is("initialize")) {
        co_await serve_initialize(http, std::move(v), std::move(m));
        co_return;
    }
    bool without = !http.head().headers.get(session_header) && m->is_request() &&
                   through_.in().sessions.bounds().without_id == session::sessionless::serve;
    if (without) {
        co_await serve_without_session(http, std::move(v), std::move(m));
        co_return;
    }
    auto host = find_session(http.head(), v);
    if (!host) {
        const auto& f = host.error();
        co_await refuse(
            http, status_of(f), mcp::code_invalid_request, f.message, std::move(id), v.headers
        );
        co_return;
    }
    if (m->is_request()) {
        co_await serve_request(http, std::move(v), std::move(*host), std::move(m));
        co_return;
    }
    through_.take(**host, *m);
    co_await answer_empty(http, 202, std::move(v.headers));
}

aio::task<>
front::serve_initialize(net::exchange& http, visit v, std::shared_ptr<const wire::message> m) {
    auto endpoint = v.where.path;
    auto hello = co_await through_.greet(std::move(m), v.who, std::move(v.where), v.upward);
    through_.record_greeting(hello, *v.who, endpoint, http.arrived());
    if (hello.host) v.headers.emplace_back("Mcp-Session-Id", hello.host->who().id);
    co_await answer_json(http, hello.http_status, std::move(hello.answer), std::move(v.headers));
}

base::result<void> front::begin(
    const visit& v,
    std::shared_ptr<session::session> host,
    std::shared_ptr<session::stream> out,
    std::shared_ptr<const wire::message> m,
    std::uint32_t number,
    aio::instant arrived
) {
    auto id = m->id_token();
    auto call = host->begin_call(std::move(*id), std::move(out), number);
    if (!call) return call.error();
    auto op = std::make_shared<gateway::operation>();
    op->host = std::move(host);
    op->call = std::move(*call);
    op->scope = v.where;
    op->caller = v.who;
    op->method = &mcp::describe(m->method_text());
    op->message = std::move(m);
    op->headers = v.upward;
    op->held = v.held;
    op->arrived = arrived;
    through_.start(std::move(op));
    return {};
}

aio::task<> front::serve_request(
    net::exchange& http,
    visit v,
    std::shared_ptr<session::session> host,
    std::shared_ptr<const wire::message> m
) {
    auto out = host->open_stream(1);
    auto id = std::string(m->view(m->id));
    auto begun = begin(v, host, out, std::move(m), 0, http.arrived());
    if (!begun) {
        host->drop_stream(*out);
        int status = begun.error().code == base::errc::too_many ? 429 : status_of(begun.error());
        co_await refuse(
            http, status, mcp::code_internal, begun.error().message, std::move(id), v.headers
        );
        co_return;
    }
    stream_rules rules{settings_, host->who().revision, false, std::move(v.headers)};
    co_await answer_stream(http, std::move(host), std::move(out), std::move(rules));
}

aio::task<>
front::serve_without_session(net::exchange& http, visit v, std::shared_ptr<const wire::message> m) {
    session::identity who;
    who.principal = v.who->id;
    who.scope = v.where.path;
    auto version = http.head().headers.get(version_header);
    auto known =
        version ? mcp::parse_revision(*version) : std::optional(mcp::assumed_without_header);
    if (!known) {
        auto id = std::string(m->view(m->id));
        co_await refuse(
            http,
            400,
            mcp::code_invalid_request,
            "MCP-Protocol-Version is unknown",
            std::move(id),
            v.headers
        );
        co_return;
    }
    who.revision = *known;
    auto opened = through_.in().sessions.open_throw_away(std::move(who));
    if (!opened) {
        auto id = std::string(m->view(m->id));
        const auto& f = opened.error();
        co_await refuse(
            http, status_of(f), mcp::code_internal, f.message, std::move(id), v.headers
        );
        co_return;
    }
    auto host = *opened;
    co_await serve_request(http, std::move(v), host, std::move(m));
    host->end();
}

aio::task<> front::serve_delete(net::exchange& http, visit v) {
    auto host = find_session(http.head(), v);
    if (!host) {
        const auto& f = host.error();
        co_await refuse(
            http, status_of(f), mcp::code_invalid_request, f.message, std::string(), v.headers
        );
        co_return;
    }
    through_.in().sessions.end(**host);
    co_await answer_empty(http, 204, std::move(v.headers));
}

} // namespace sluice::front
