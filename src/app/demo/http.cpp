#include "app/demo/outlet.hpp"
#include "app/demo/session.hpp"
#include "app/demo/upstream.hpp"
#include "base/text.hpp"
#include "net/http_server.hpp"
#include "sys/random.hpp"
#include "wire/message.hpp"
#include "wire/sse.hpp"

#include <boost/asio/signal_set.hpp>

#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace sluice::app {

using namespace demo;

namespace {

constexpr std::size_t max_sessions = 10'000;
constexpr auto keepalive = std::chrono::seconds(15);

struct http_session {
    http_session(aio::executor ex, demo::options wanted) : core(ex, wanted), listener(ex) {}
    demo::session core;
    aio::signal_flag listener; // of the one GET stream
    bool listening = false;
    bool ended = false;
};

class demo_site {
public:
    demo_site(aio::executor ex, demo::options wanted) : ex_(ex), options_(wanted) {}

    aio::task<> serve(net::exchange& ex);
    void end_everything() {
        for (auto& [id, s] : sessions_)
            end(*s);
    }

private:
    static void end(http_session& s) {
        s.ended = true;
        s.core.cancel_everything();
        s.listener.wake();
    }
    std::optional<net::response> refusal(const net::request_head& head) const;
    aio::task<> post(net::exchange& ex);
    aio::task<> initialize(net::exchange& ex, wire::message m);
    aio::task<> batch(net::exchange& ex, std::string body, std::shared_ptr<http_session> s);
    aio::task<> listen(net::exchange& ex);
    // The session a request names; else why there is none.
    std::shared_ptr<http_session> find(const net::request_head& head, net::response& why) const;
    static aio::task<> answer(net::exchange& ex, net::response what) {
        auto sent = co_await ex.respond(std::move(what));
        (void)sent; // gone before it could be told: nobody is left to tell
    }

    aio::executor ex_;
    demo::options options_;
    std::unordered_map<std::string, std::shared_ptr<http_session>> sessions_;
};

std::optional<net::response> demo_site::refusal(const net::request_head& head) const {
    if (head.path() != "/mcp" && head.path() != "/mcp/") return plain(404, "the endpoint is /mcp");
    auto host = head.headers.get("host");
    if (host && !is_loopback(*host)) return plain(403, "this Host is not served here");
    auto origin = head.headers.get("origin");
    if (origin && !is_loopback(*origin)) return plain(403, "this Origin is not allowed");
    if (head.method != "POST" && head.method != "GET" && head.method != "DELETE") {
        auto no = plain(405, "POST, GET or DELETE");
        no.headers.add("Allow", "POST, GET, DELETE");
        return no;
    }
    auto revision = head.headers.get("mcp-protocol-version");
    if (revision && !demo::session::knows(*revision))
        return rpc_error(400, -32600, "unsupported MCP-Protocol-Version");
    return std::nullopt;
}

std::shared_ptr<http_session>
demo_site::find(const net::request_head& head, net::response& why) const {
    auto id = head.headers.get("mcp-session-id");
    if (!id) {
        why = rpc_error(400, -32600, "Mcp-Session-Id is missing");
        return nullptr;
    }
    auto found = sessions_.find(std::string(*id));
    if (found == sessions_.end()) {
        why = rpc_error(404, -32600, "no such session");
        return nullptr;
    }
    return found->second;
}

aio::task<> demo_site::serve(net::exchange& ex) {
    if (auto no = refusal(ex.head())) {
        co_await answer(ex, std::move(*no));
        co_return;
    }
    if (ex.head().method == "POST") {
        co_await post(ex);
        co_return;
    }
    if (ex.head().method == "GET") {
        co_await listen(ex);
        co_return;
    }
    net::response said;
    if (auto s = find(ex.head(), said)) {
        end(*s);
        sessions_.erase(std::string(*ex.head().headers.get("mcp-session-id")));
        said = net::response();
        said.status = 204;
    }
    co_await answer(ex, std::move(said));
}

aio::task<> demo_site::post(net::exchange& ex) {
    auto type = ex.head().headers.get("content-type");
    if (!type || !base::iequals(base::trim(type->substr(0, type->find(';'))), "application/json")) {
        co_await answer(ex, plain(415, "Content-Type: application/json"));
        co_return;
    }
    if (!accepts(ex.head(), "application/json") || !accepts(ex.head(), "text/event-stream")) {
        co_await answer(ex, plain(406, "Accept both application/json and text/event-stream"));
        co_return;
    }
    auto body = co_await ex.read_body();
    if (!body) {
        int status = body.error().code == base::errc::too_large ? 413 : 400;
        co_await answer(ex, plain(status, body.error().message));
        co_return;
    }
    net::response why;
    auto s = find(ex.head(), why);
    if (s && s->core.revision() == "2025-03-26" && wire::looks_like_batch(*body)) {
        co_await batch(ex, std::move(*body), std::move(s));
        co_return;
    }
    std::string id = "null";
    auto parsed = wire::parse_message(std::move(*body), wire::json_limits(), &id);
    if (!parsed) {
        co_await answer(ex, refused_message(parsed.error(), id));
        co_return;
    }
    if (parsed->is_request() && parsed->method_is("initialize")) {
        co_await initialize(ex, std::move(*parsed));
        co_return;
    }
    if (!s) {
        co_await answer(ex, std::move(why));
        co_return;
    }
    if (!parsed->is_request()) {
        s->core.take(*parsed);
        net::response accepted;
        accepted.status = 202;
        co_await answer(ex, std::move(accepted));
        co_return;
    }
    http_outlet out(ex, 1, false);
    co_await s->core.request(std::move(*parsed), out);
}

aio::task<> demo_site::initialize(net::exchange& ex, wire::message m) {
    if (sessions_.size() >= max_sessions) {
        co_await answer(ex, plain(503, "too many sessions"));
        co_return;
    }
    auto s = std::make_shared<http_session>(ex_, options_);
    http_outlet out(ex, 1, false);
    std::string id = sys::random_id();
    out.session_id = id;
    sessions_.emplace(id, s);
    co_await s->core.request(std::move(m), out);
    if (!s->core.opened()) sessions_.erase(id);
}

// 2025-03-26 only: several messages in one body; the responses come as events of one stream.
aio::task<> demo_site::batch(net::exchange& ex, std::string body, std::shared_ptr<http_session> s) {
    auto parts = wire::split_batch(body);
    if (!parts) {
        co_await answer(ex, rpc_error(400, -32600, parts.error().message));
        co_return;
    }
    std::vector<wire::message> requests;
    for (auto& part : *parts) {
        auto m = wire::parse_message(std::move(part));
        if (!m || m->method_is("initialize")) {
            co_await answer(
                ex, rpc_error(400, -32600, "a batch of messages, initialize not among them")
            );
            co_return;
        }
        if (m->is_request())
            requests.push_back(std::move(*m));
        else
            s->core.take(*m);
    }
    if (requests.empty()) {
        net::response accepted;
        accepted.status = 202;
        co_await answer(ex, std::move(accepted));
        co_return;
    }
    http_outlet out(ex, requests.size(), true);
    for (auto& m : requests)
        co_await s->core.request(std::move(m), out);
}

// The standing stream: nothing to say but that we are alive.
aio::task<> demo_site::listen(net::exchange& ex) {
    net::response why;
    auto s = find(ex.head(), why);
    if (s && !accepts(ex.head(), "text/event-stream"))
        why = plain(406, "Accept: text/event-stream");
    if (s && s->listening) why = plain(409, "this session has its stream already");
    if (!s || s->listening || why.status != 200) {
        co_await answer(ex, std::move(why));
        co_return;
    }
    s->listening = true;
    auto head = stream_head();
    auto sent = co_await ex.start_stream(std::move(head));
    bool gone = !sent;
    ex.on_peer_gone([s, &gone] {
        gone = true;
        s->listener.wake();
    });
    while (!gone && !s->ended) {
        sent = co_await ex.write(wire::comment("alive"));
        if (!sent) break;
        co_await s->listener.wait(aio::clock::now() + keepalive);
    }
    s->listening = false;
    ex.on_peer_gone([] {});
    sent = co_await ex.finish();
}

aio::task<> finish(net::http_server& server, bool& done) {
    co_await aio::keep_running_when_cancelled();
    co_await server.drain(std::chrono::seconds(2));
    done = true;
}

} // namespace

int demo_over_http(std::uint16_t port, demo::options wanted) {
    aio::loop loop(1);
    aio::deadlines deadlines(loop.get_executor());
    demo_site site(loop.get_executor(), wanted);
    net::http_server server(loop, deadlines, net::http_limits(), [&site](net::exchange& ex) {
        return site.serve(ex);
    });
    auto bound = server.listen("127.0.0.1:" + std::to_string(port));
    if (!bound) {
        std::fprintf(stderr, "sluice: %s\n", bound.error().message.c_str());
        return 2;
    }
    aio::nursery nursery(loop.get_executor(), "demo");
    bool done = false;
    aio::asio::signal_set signals(loop, SIGINT, SIGTERM);
    signals.async_wait([&](aio::error_code failed, int) {
        if (failed) return;
        site.end_everything();
        nursery.spawn(finish(server, done));
    });
    // Only now: who reads the line may send the signal at once.
    std::printf("demo upstream on http://127.0.0.1:%u/mcp\n", unsigned(server.port()));
    std::fflush(stdout);
    // Not until the loop has no work: a sweep for deadlines may be waiting yet.
    while (!done || nursery.size() > 0)
        loop.run_one();
    return 0;
}

} // namespace sluice::app
