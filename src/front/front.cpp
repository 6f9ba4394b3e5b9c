#include "front/front.hpp"

#include "base/text.hpp"
#include "sys/log.hpp"

#include <array>
#include <utility>

namespace sluice::front {

namespace {

bool any_forwards(gateway::gateway& through) {
    const auto& names = through.in().names;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (!names.server(i).extra_headers.empty()) return true;
    }
    return false;
}

// For refusals that are no fault of another room.
std::string_view reason_of(int status) {
    constexpr std::array<std::pair<int, std::string_view>, 8> reasons = {{
        {404, "not_found"},
        {405, "method_not_allowed"},
        {406, "not_acceptable"},
        {408, "timeout"},
        {409, "conflict"},
        {415, "unsupported_media_type"},
        {429, "too_many"},
        {503, "too_many"},
    }};
    for (const auto& [of, reason] : reasons) {
        if (of == status) return reason;
    }
    return "invalid_request";
}

} // namespace

refusal because(int status, std::string text, std::string id) {
    refusal why;
    why.status = status;
    why.text = std::move(text);
    why.id = std::move(id);
    return why;
}

refusal because(const base::fault& f, std::string id) {
    auto why = because(
        f.http_status != 0 ? f.http_status : mcp::http_status_of(f), f.message, std::move(id)
    );
    why.reason = name_of(f.code);
    if (why.status == 503) why.retry_after = 1;
    return why;
}

front::front(gateway::gateway& through, const policy::keyring& keys, settings from, bool loopback)
    : through_(through), keys_(keys), settings_(std::move(from)), guard_(settings_, loopback),
      forwards_headers_(any_forwards(through)) {}

void front::note_refusal(
    const visit& v, const refusal& why, std::string_view method, std::string_view path
) const {
    auto reason = why.reason.empty() ? reason_of(why.status) : why.reason;
    through_.in().meters.refused(reason);
    sys::log_line line(sys::log_level::info, "refused");
    line.field("status", why.status).field("reason", reason);
    line.field("method", base::clip(method, 16)).field("endpoint", base::clip(path));
    if (v.who && !v.who->open) line.field("key", v.who->name);
    line.field("text", base::clip(why.text));
}

void front::note_refusal_of_message(const visit& v, const base::fault& f) const {
    auto why = because(f);
    if (f.code == base::errc::too_many) why.status = 429;
    note_refusal(v, why, "POST", v.where.path);
}

aio::task<> front::turn_away(net::exchange& http, const visit& v, refusal why) {
    auto headers = v.headers;
    if (why.retry_after > 0) headers.emplace_back("Retry-After", std::to_string(why.retry_after));
    note_refusal(v, why, http.head().method, http.head().path());
    co_await refuse(
        http, why.status, why.code, std::move(why.text), std::move(why.id), std::move(headers)
    );
}

aio::task<> front::serve(net::exchange& http) {
    aio::task<> rest;
    if (http.head().method == "OPTIONS") {
        co_await serve_options(http);
    } else {
        co_await serve_visit(http, visit(), rest);
    }
    if (rest.valid()) co_await std::move(rest);
}

aio::task<> front::serve_visit(net::exchange& http, visit v, aio::task<>& rest) {
    const auto& method = http.head().method;
    v.under = through_.in().enter();
    auto admitted = admit(http.head(), v);
    bool trusted = admitted || admitted.error().code != base::errc::forbidden; // Host, Origin
    if (v.debug && trusted) explain(v, http.head());
    if (!admitted) {
        co_await turn_away(http, v, because(admitted.error()));
        co_return;
    }
    if (v.at != endpoint::streamable) {
        co_await serve_legacy(http, v, rest);
    } else if (method == "POST") {
        co_await serve_post(http, std::move(v));
    } else if (method == "GET") {
        co_await serve_get(http, v, rest);
    } else if (method == "DELETE") {
        co_await serve_delete(http, v);
    } else {
        v.headers.emplace_back("Allow", "GET, POST, DELETE, OPTIONS");
        co_await turn_away(http, v, because(405, "MCP is spoken here by POST, GET and DELETE"));
    }
}

aio::task<> front::serve_options(net::exchange& http) {
    auto checked = guard_.check(http.head());
    if (!checked) {
        visit nobody;
        co_await turn_away(http, nobody, because(checked.error()));
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

aio::task<> front::serve_delete(net::exchange& http, visit& v) {
    auto host = co_await session_of(http, v, std::string(), std::string());
    if (!host) co_return;
    auto ended = co_await through_.in().sessions.end(host);
    if (!ended) {
        co_await turn_away(http, v, because_away(ended.error(), std::string()));
        co_return;
    }
    co_await answer_empty(http, 204, std::move(v.headers));
}

} // namespace sluice::front
