// A pool that talks to a port whose answers the test writes byte by byte.
#pragma once

#include "aio/nursery.hpp"
#include "net/http_client.hpp"
#include "run.hpp"

#include <boost/asio/basic_socket_acceptor.hpp>

#include <functional>
#include <string>
#include <vector>

namespace sluice::net::test {

using acceptor = asio::basic_socket_acceptor<asio::ip::tcp, aio::executor>;

// A port whose connections the test answers byte by byte.
struct scripted {
    explicit scripted(aio::executor ex) : door(ex, {asio::ip::address_v4::loopback(), 0}) {}
    url where() const {
        return *parse_url("http://127.0.0.1:" + std::to_string(door.local_endpoint().port()));
    }
    aio::task<raw_peer> accept() {
        auto got = co_await door.async_accept(aio::nothrow);
        auto& [error, socket] = got;
        REQUIRE(!error);
        co_return raw_peer(std::move(socket));
    }
    acceptor door;
};

// Serves one connection: for each answer, reads a head and sends it; then closes unless told to
// hold.
inline aio::task<> play(scripted& stage, std::vector<std::string> answers, bool hold = false) {
    auto peer = co_await stage.accept();
    for (auto& answer : answers) {
        co_await peer.read_until("\r\n\r\n");
        co_await peer.send(std::move(answer));
    }
    if (hold) co_await peer.read_to_end();
}

struct bench {
    aio::loop loop;
    aio::deadlines deadlines;
    scripted stage{loop.get_executor()};
    http_pool pool;
    aio::nursery crew{loop.get_executor(), "test"};

    explicit bench(
        client_settings settings = {}, aio::duration tick = std::chrono::milliseconds(20)
    )
        : deadlines(loop.get_executor(), tick),
          pool(loop, deadlines, stage.where(), std::move(settings)) {}

    void run(std::function<aio::task<>(bench&)> body) {
        auto all = [](bench& b, std::function<aio::task<>(bench&)> inner) -> aio::task<> {
            co_await inner(b);
            co_await b.crew.join();
        };
        test::run(loop, all(*this, std::move(body)));
        CHECK(pool.count().busy == 0);
    }
};

inline aio::instant soon() {
    return aio::clock::now() + patience;
}

inline client_request get(std::string target = "/") {
    client_request out;
    out.method = "GET";
    out.target = std::move(target);
    return out;
}

// The answer's body, or the fault's name.
inline aio::task<std::string>
ask(http_pool& pool, client_request request, aio::instant until = soon()) {
    auto answer = co_await pool.send(std::move(request), until);
    if (!answer) co_return "send:" + std::string(base::name_of(answer.error().code));
    auto body = co_await read_all(**answer, 1'000'000, until);
    if (!body) co_return "read:" + std::string(base::name_of(body.error().code));
    co_return *body;
}

inline aio::task<std::string> ask_scripted(bench& b, std::string answer, bool hold = false) {
    std::vector<std::string> answers{std::move(answer)};
    b.crew.spawn(play(b.stage, std::move(answers), hold));
    auto request = get();
    request.fresh = true;
    auto got = co_await ask(
        b.pool, std::move(request), aio::clock::now() + std::chrono::milliseconds(300)
    );
    co_return got;
}

} // namespace sluice::net::test
