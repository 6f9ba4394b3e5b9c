// A server on a loopback port with a handler of the test's choosing, drained at the end of the
// test.
#pragma once

#include "net/http_server.hpp"
#include "run.hpp"

#include <functional>

namespace sluice::net::test {

struct house {
    house(http_limits limits, http_server::handler serve)
        : server(loop, deadlines, limits, std::move(serve)) {
        REQUIRE(server.listen("127.0.0.1:0"));
    }

    // Runs the body, then drains; the server must end with nothing left.
    void run(std::function<aio::task<>(house&)> body) {
        auto all = [](house& h, std::function<aio::task<>(house&)> inner) -> aio::task<> {
            co_await inner(h);
            co_await h.server.drain(std::chrono::seconds(3));
        };
        test::run(loop, all(*this, std::move(body)));
        CHECK(server.counters().open == 0);
    }

    aio::loop loop;
    aio::deadlines deadlines{loop.get_executor()};
    http_server server;
};

} // namespace sluice::net::test
