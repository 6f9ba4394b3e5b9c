// Replicas in one process, on loopback sockets and one shared store.
#pragma once

#include "../aio/run.hpp"
#include "aio/within.hpp"
#include "base/text.hpp"
#include "front/peer_door.hpp"
#include "front/peers.hpp"
#include "state/store.hpp"
#include "sys/digest.hpp"
#include "sys/log.hpp"

namespace sluice::front::test {

using namespace std::chrono_literals;

using handler = std::function<aio::task<>(net::exchange&, policy::caller)>;

struct crossing {
    aio::loop loop;
    aio::deadlines deadlines{loop.get_executor(), 1ms};
    std::unique_ptr<state::store> store = state::make_memory_store(loop, {}, true);
    sys::sealer seals{{base::secret("a salt of at least thirty-two bytes, really")}};
    policy::settings keys_from;

    crossing() {
        sys::configure_log({sys::log_level::off, sys::log_format::json});
        keys_from.keys.push_back({});
        keys_from.keys[0].name = "alice";
        keys_from.keys[0].sha256 = policy::hash_key("sk-alice");
        store->start();
    }
    ~crossing() { sys::configure_log({}); }
    crossing(const crossing&) = delete;
    crossing& operator=(const crossing&) = delete;

    void run(std::function<aio::task<>(crossing&)> body) {
        auto whole = [](crossing& c, std::function<aio::task<>(crossing&)> inner) -> aio::task<> {
            co_await inner(c);
            co_await c.store->shut_down();
        };
        aio::test::run(loop, whole(*this, std::move(body)));
    }
};

// One replica: hosts come to `front`, which passes everything on to `home`; peers come to `back`.
struct house {
    house(crossing& c, handler serve, const sys::sealer& seals)
        : keys(c.keys_from), everybody(c.loop, *c.store, {}),
          out(c.loop,
              c.deadlines,
              everybody,
              seals,
              meters,
              {100ms, 200ms, "/at", {"authorization"}}),
          door(
              everybody,
              seals,
              meters,
              {[this](std::string_view id) { return keys.known_as(id); },
               [this,
                inside =
                    std::move(serve)](net::exchange& http, policy::caller who, std::string by) {
                   said_by = std::move(by);
                   return inside(http, std::move(who));
               },
               [this](const net::request_head&) { return budget.take(budget_asked); }}
          ),
          front(c.loop, c.deadlines, {}, [this](net::exchange& http) { return pass(http); }),
          back(c.loop, c.deadlines, {}, [this](net::exchange& http) { return door.serve(http); }) {
        REQUIRE(front.listen("127.0.0.1:0"));
        REQUIRE(back.listen("127.0.0.1:0"));
        everybody.be_at(back.local_address());
        everybody.start();
    }

    aio::task<> pass(net::exchange& http) {
        auto body = co_await http.read_body();
        hop to;
        to.replica = home;
        to.principal = keys.find("sk-alice")->id;
        to.body = *body;
        co_await out.pass_on(http, std::move(to));
    }
    aio::task<> ready() {
        while (!everybody.holds_lease())
            co_await aio::pause(1ms);
    }
    aio::task<> close() {
        co_await everybody.shut_down();
        co_await front.drain(1s);
        co_await back.drain(1s);
    }

    std::string home;
    std::string said_by; // of what came last
    std::size_t budget_asked = 1;
    sys::budget budget{100};
    sys::meters meters{0};
    policy::keyring keys;
    gateway::replicas everybody;
    peers out;
    peer_door door;
    net::http_server front;
    net::http_server back;
};

struct got {
    int status = 0;
    net::fields headers;
    std::string body;
    base::errc fault{};
    bool whole = false;
};

inline aio::task<got> read_on(std::unique_ptr<net::client_response> from) {
    got out;
    out.status = from->head().status;
    out.headers = from->head().headers;
    for (;;) {
        auto some = co_await from->read_some(aio::test::late());
        if (!some) {
            out.fault = some.error().code;
            break;
        }
        out.whole = some->empty();
        if (out.whole) break;
        out.body += *some;
    }
    co_return out;
}

inline net::client_request post(std::string body) {
    net::client_request request;
    request.target = "/up/mcp";
    request.headers.add("Content-Type", "application/json");
    request.headers.add("Mcp-Session-Id", "s-1");
    request.headers.add("Authorization", "Bearer sk-alice");
    request.body = std::move(body);
    return request;
}

inline aio::task<got> ask(crossing& c, std::string address, net::client_request request) {
    net::http_pool pool(c.loop, c.deadlines, *net::parse_url("http://" + address), {});
    auto answer = co_await pool.send(std::move(request), aio::test::late());
    REQUIRE(answer);
    auto out = co_await read_on(std::move(*answer));
    co_return out;
}

// What the receiving front sees, as JSON for the test to look at.
inline aio::task<> echo(net::exchange& http, policy::caller who) {
    auto body = co_await http.read_body();
    net::response out;
    out.status = 202;
    out.headers.add("Content-Type", "application/json");
    out.headers.add("X-Seen", http.head().method + " " + http.head().target);
    out.headers.add(
        "X-Session", std::string(http.head().headers.get("mcp-session-id").value_or(""))
    );
    out.headers.add(
        "X-Key", std::string(http.head().headers.get("authorization").value_or("none"))
    );
    out.body = who->name + ":" + *body;
    [[maybe_unused]] auto sent = co_await http.respond(std::move(out));
}

inline double metric(const sys::meters& from, const std::string& line) {
    auto text = from.render();
    auto at = text.find("\n" + line + " ");
    return at == std::string::npos ? 0 : std::stod(text.substr(at + line.size() + 2));
}

} // namespace sluice::front::test
