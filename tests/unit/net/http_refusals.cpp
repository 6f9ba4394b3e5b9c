// What a listener turns away by itself, and whom it tells.
#include "aio/within.hpp"
#include "house.hpp"

using namespace sluice;
using namespace sluice::net;
using test::house;
using test::raw_peer;

TEST_CASE("what never reaches the handler is told to whoever wants to know") {
    http_limits limits;
    limits.max_header_bytes = 1024;
    limits.max_connections = 1;
    limits.header_timeout = std::chrono::milliseconds(60);
    auto serve = [](exchange& call) -> aio::task<> {
        response out;
        out.body = "served";
        (void)co_await call.respond(std::move(out));
    };
    house h(limits, serve);
    std::vector<std::string> told;
    h.server.on_turned_away([&](const turned_away& what) {
        CHECK(what.peer == "127.0.0.1");
        CHECK(!what.text.empty());
        told.push_back(std::to_string(what.status) + " " + std::string(what.reason));
    });
    h.run([&](house& h) -> aio::task<> {
        std::vector<std::string> all = {
            "GET / HTTP/1.1\nHost: a\n\n",
            "GET / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nX: " + std::string(2000, 'h'),
            "GET / HTTP/1.1\r\nHost",
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" // served
        };
        for (auto& bytes : all) {
            raw_peer peer(h.loop);
            co_await peer.connect(h.server.port());
            co_await peer.send(std::move(bytes));
            auto seen = co_await peer.read_to_end();
            CHECK(!seen.empty());
            peer.socket().close();
            while (h.server.counters().open > 0) // the one place there is
                co_await aio::pause(std::chrono::milliseconds(1));
        }
        raw_peer first(h.loop);
        co_await first.connect(h.server.port());
        co_await first.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        auto seen = co_await first.read_until("served");
        raw_peer second(h.loop);
        co_await second.connect(h.server.port());
        seen = co_await second.read_to_end();
        CHECK(seen.starts_with("HTTP/1.1 503 "));
    });
    std::vector<std::string> wanted = {
        "400 framing",
        "400 framing",
        "431 headers_too_large",
        "408 timeout",
        "503 too_many_connections"
    };
    CHECK(told == wanted);
}
