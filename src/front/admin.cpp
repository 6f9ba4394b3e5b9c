#include "front/admin.hpp"

#include "base/text.hpp"
#include "sys/clock.hpp"
#include "wire/json.hpp"

namespace sluice::front {

namespace {

constexpr std::string_view sessions_path = "/sessions";

net::response plain(int status, std::string text) {
    net::response out;
    out.status = status;
    out.headers.add("Content-Type", "text/plain; charset=utf-8");
    out.body = std::move(text);
    return out;
}

net::response as_json(std::string body) {
    net::response out;
    out.headers.add("Content-Type", "application/json");
    out.body = std::move(body);
    return out;
}

bool reads(const net::request_head& head) {
    return head.method == "GET" || head.method == "HEAD";
}

net::response not_by(const net::request_head& head, std::string methods) {
    auto out = plain(405, "not by " + base::clip(head.method, 16) + "; by " + methods + "\n");
    out.headers.add("Allow", std::move(methods));
    return out;
}

net::response without_store() {
    auto out = plain(503, "the store is away; try again\n");
    out.headers.add("Retry-After", "1");
    return out;
}

std::string line_of(const session::seen_session& one) {
    const auto& who = one.who;
    auto age = (sys::wall_ms() - who.opened_ms) / 1000;
    return "{\"session\":" + wire::quote(one.digest) + ",\"key\":" + wire::quote(one.key_name) +
           ",\"endpoint\":" + wire::quote(who.scope) + ",\"age_s\":" + std::to_string(age) +
           ",\"idle_s\":" + std::to_string(one.idle.count() / 1000) + "}";
}

} // namespace

aio::task<> admin::serve(net::exchange& http) {
    const auto& head = http.head();
    net::response out;
    if (head.path().starts_with(sessions_path)) {
        out = co_await serve_sessions(head);
    } else if (reads(head)) {
        out = look(head.path());
    } else {
        out = not_by(head, "GET, HEAD");
    }
    [[maybe_unused]] auto written = co_await http.respond(std::move(out));
}

aio::task<net::response> admin::serve_sessions(const net::request_head& head) {
    auto allowed = may_administer_(head);
    if (!allowed) co_return turn_away(head, allowed.error());
    auto rest = head.path().substr(sessions_path.size());
    net::response out;
    if (head.method == "DELETE") {
        out = co_await end_sessions(std::string(rest), std::string(head.query()));
    } else if (!reads(head)) {
        out = not_by(head, "GET, HEAD, DELETE");
    } else if (rest.empty()) {
        out = co_await list_sessions();
    } else {
        out = look(head.path());
    }
    co_return out;
}

net::response admin::turn_away(const net::request_head& head, const base::fault& why) {
    front::turned_away seen;
    seen.status = 403;
    seen.reason = name_of(why.code);
    seen.listener = "admin";
    seen.method = head.method;
    seen.endpoint = head.path();
    seen.text = why.message;
    door_.note(seen);
    return plain(seen.status, why.message + "\n");
}

net::response admin::look(std::string_view path) const {
    if (path == "/healthz") return plain(200, "ok\n");
    if (path == "/metrics") {
        auto out = plain(200, meters_.render());
        out.headers.set("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
        return out;
    }
    if (path == "/readyz") {
        auto reason = ready_();
        return plain(reason.empty() ? 200 : 503, (reason.empty() ? "ready" : reason) + "\n");
    }
    return plain(404, "here are /metrics, /healthz, /readyz and /sessions\n");
}

aio::task<net::response> admin::list_sessions() {
    auto all = co_await sessions_.look();
    if (!all) co_return without_store();
    std::string text = "{\"sessions\":[";
    for (const auto& one : *all)
        text += (text.back() == '[' ? "\n" : ",\n") + line_of(one);
    co_return as_json(text + "\n]}\n");
}

// /sessions/DIGEST, or /sessions?key=NAME: all of that key.
aio::task<net::response> admin::end_sessions(std::string digest, std::string query) {
    constexpr std::string_view key_parameter = "key=";
    std::function<bool(const session::seen_session&)> which;
    if (digest.size() > 1 && digest.front() == '/') {
        which = [wanted = digest.substr(1)](const auto& one) { return one.digest == wanted; };
    } else if (digest.empty() && query.starts_with(key_parameter)) {
        auto name = net::percent_decode(std::string_view(query).substr(key_parameter.size()));
        if (!name) co_return plain(400, "the name of the key cannot be read\n");
        which = [wanted = *name](const auto& one) { return one.key_name == wanted; };
    } else {
        co_return plain(400, "which? DELETE /sessions/{session} or /sessions?key={name}\n");
    }
    auto ended = co_await sessions_.end(std::move(which));
    if (!ended) co_return without_store();
    if (*ended == 0) co_return plain(404, "there is no such session\n");
    co_return as_json("{\"ended\":" + std::to_string(*ended) + "}\n");
}

} // namespace sluice::front
