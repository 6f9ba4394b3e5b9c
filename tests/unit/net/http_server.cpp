#include "net/http_server.hpp"

#include "aio/channel.hpp"
#include "house.hpp"

#include <ctime>
#include <sys/resource.h>
#include <unistd.h>

using namespace sluice;
using namespace sluice::net;
using test::house;
using test::raw_peer;

namespace {

std::string post(std::string_view body, std::string_view more = {}) {
    return "POST /mcp HTTP/1.1\r\nHost: a\r\n" + std::string(more) +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

// Answers what it read, and errors by their status.
aio::task<> echo(exchange& call) {
    auto body = co_await call.read_body();
    response out;
    if (!body) {
        auto code = body.error().code;
        if (code == base::errc::closed) co_return;
        out.status = code == base::errc::too_large ? 413 : code == base::errc::timeout ? 408 : 400;
    } else {
        out.body = call.head().method + " " + call.head().target + " " + *body;
    }
    (void)co_await call.respond(std::move(out));
}

aio::task<> never_asked(exchange&) {
    FAIL("the handler must not be reached");
    co_return;
}

http_limits small_limits() {
    http_limits limits;
    limits.max_header_bytes = 1024;
    limits.max_body_bytes = 1000;
    limits.header_timeout = std::chrono::milliseconds(60);
    limits.body_timeout = std::chrono::milliseconds(60);
    limits.idle_timeout = std::chrono::milliseconds(60);
    return limits;
}

// Sends and returns all that comes until the server closes.
aio::task<std::string> ask(house& h, std::string bytes) {
    raw_peer peer(h.loop);
    co_await peer.connect(h.server.port());
    co_await peer.send(std::move(bytes));
    auto seen = co_await peer.read_to_end();
    CHECK(!peer.gave_up());
    co_return seen;
}

bool begins(std::string_view text, std::string_view with) {
    return text.starts_with(with);
}
bool has(std::string_view text, std::string_view what) {
    return text.find(what) != text.npos;
}

} // namespace

TEST_CASE("a request is answered and its connection kept") {
    house h({}, echo);
    h.run([](house& h) -> aio::task<> {
        raw_peer peer(h.loop);
        co_await peer.connect(h.server.port());
        for (int i = 0; i < 3; ++i) {
            co_await peer.send(post("hello"));
            auto seen = co_await peer.read_until("hello");
            CHECK(begins(seen, "HTTP/1.1 200 OK\r\n"));
            CHECK(has(seen, "Content-Length: 15\r\n"));
            CHECK(has(seen, "Date: "));
            CHECK(!has(seen, "Connection:"));
            CHECK(seen.ends_with("\r\n\r\nPOST /mcp hello"));
        }
        CHECK(h.server.counters().accepted == 1);
    });
}

TEST_CASE("pipelined requests are served in order") {
    house h({}, echo);
    h.run([](house& h) -> aio::task<> {
        auto seen =
            co_await ask(h, post("one") + post("two") + post("three", "Connection: close\r\n"));
        auto one = seen.find("/mcp one");
        auto two = seen.find("/mcp two");
        auto three = seen.find("/mcp three");
        CHECK(one < two);
        CHECK(two < three);
        CHECK(three != seen.npos);
        CHECK(has(seen, "Connection: close\r\n"));
    });
}

TEST_CASE("HTTP/1.0 is answered and closed") {
    house h({}, echo);
    h.run([](house& h) -> aio::task<> {
        auto seen = co_await ask(h, "GET /x HTTP/1.0\r\n\r\n");
        CHECK(begins(seen, "HTTP/1.1 200 OK\r\n"));
        CHECK(seen.ends_with("GET /x "));
    });
}

TEST_CASE("HEAD and unknown methods reach the handler; HEAD gets no body") {
    house h({}, echo);
    h.run([](house& h) -> aio::task<> {
        auto head = co_await ask(h, "HEAD /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        CHECK(has(head, "Content-Length: 8\r\n"));
        CHECK(head.ends_with("\r\n\r\n"));
        auto odd = co_await ask(h, "BREW /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        CHECK(odd.ends_with("BREW /x "));
    });
}

TEST_CASE("ambiguous framing is refused with 400 and the connection closed") {
    const char* const heads[] = {
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n",
        "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2, 2\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +2\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\nX: a\r\n\r\n",
        "POST / HTTP/1.1\r\nHost : a\r\n\r\n",
        "\x16\x03\x01\x02\n",
    };
    house h({}, never_asked);
    h.run([&heads](house& h) -> aio::task<> {
        for (const auto* head : heads) {
            CAPTURE(head);
            auto seen =
                co_await ask(h, std::string(head) + "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n");
            CHECK(begins(seen, "HTTP/1.1 400 "));
            CHECK(has(seen, "Connection: close\r\n"));
            CHECK(seen.find("HTTP/1.1", 5) == seen.npos);
        }
    });
}

TEST_CASE("a chunked body is put together") {
    house h({}, echo);
    h.run([](house& h) -> aio::task<> {
        raw_peer peer(h.loop);
        co_await peer.connect(h.server.port());
        co_await peer.send(
            "POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab"
        );
        co_await peer.send("c\r\n2\r\nde\r\n0\r\n\r\n" + post("after"));
        auto first = co_await peer.read_until("/c abcde");
        CHECK(first.ends_with("POST /c abcde"));
        auto second = co_await peer.read_until("after");
        CHECK(second.ends_with("/mcp after"));
    });
}

TEST_CASE("a body over the limit is answered 413 without being read, and the host sees it") {
    house h(small_limits(), echo);
    h.run([](house& h) -> aio::task<> {
        auto sized = co_await ask(h, post(std::string(300'000, 'x')));
        CHECK(begins(sized, "HTTP/1.1 413 "));
        CHECK(has(sized, "Connection: close\r\n"));
        auto chunked = co_await ask(
            h,
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffff\r\n" +
                std::string(100'000, 'x')
        );
        CHECK(begins(chunked, "HTTP/1.1 413 "));
        CHECK(has(chunked, "Connection: close\r\n"));
    });
}

TEST_CASE("broken chunking is a 400") {
    house h({}, echo);
    h.run([](house& h) -> aio::task<> {
        auto seen = co_await ask(
            h, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"
        );
        CHECK(begins(seen, "HTTP/1.1 400 "));
        CHECK(has(seen, "Connection: close\r\n"));
    });
}

TEST_CASE("headers over the limit are answered 431") {
    house h(small_limits(), never_asked);
    h.run([](house& h) -> aio::task<> {
        auto endless = co_await ask(h, "GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(5000, 'x'));
        CHECK(begins(endless, "HTTP/1.1 431 "));
        auto complete = co_await ask(
            h, "GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(1100, 'x') + "\r\n\r\n"
        );
        CHECK(begins(complete, "HTTP/1.1 431 "));
    });
}

TEST_CASE("a slow head is answered 408, a slow body too") {
    house h(small_limits(), echo);
    h.run([](house& h) -> aio::task<> {
        auto head = co_await ask(h, "GET / HTTP/1.1\r\nHost: a\r\n");
        CHECK(begins(head, "HTTP/1.1 408 "));
        auto body = co_await ask(h, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc");
        CHECK(begins(body, "HTTP/1.1 408 "));
        CHECK(has(body, "Connection: close\r\n"));
    });
}

TEST_CASE("an idle connection is closed without a word") {
    house h(small_limits(), echo);
    h.run([](house& h) -> aio::task<> {
        auto silent = co_await ask(h, "");
        CHECK(silent.empty());
        auto kept = co_await ask(h, post("x"));
        CHECK(kept.ends_with("/mcp x"));
    });
}

TEST_CASE("Expect: 100-continue is answered when the body is read") {
    house h({}, echo);
    h.run([](house& h) -> aio::task<> {
        raw_peer peer(h.loop);
        co_await peer.connect(h.server.port());
        co_await peer.send(
            "POST /e HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
        );
        auto told = co_await peer.read_until("\r\n\r\n");
        CHECK(told == "HTTP/1.1 100 Continue\r\n\r\n");
        co_await peer.send("hi");
        auto seen = co_await peer.read_until("/e hi");
        CHECK(begins(seen, "HTTP/1.1 200 OK\r\n"));
    });
}

TEST_CASE("an unread body closes the connection unless it is here already") {
    auto refuse = [](exchange& call) -> aio::task<> {
        response out;
        out.status = 401;
        (void)co_await call.respond(std::move(out));
    };
    house h({}, refuse);
    h.run([](house& h) -> aio::task<> {
        raw_peer peer(h.loop);
        co_await peer.connect(h.server.port());
        co_await peer.send(post("small") + post("small"));
        co_await peer.read_until("\r\n\r\n");
        auto second = co_await peer.read_until("\r\n\r\n");
        CHECK(begins(second, "HTTP/1.1 401 "));
        auto late = co_await ask(h, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n");
        CHECK(begins(late, "HTTP/1.1 401 "));
        CHECK(has(late, "Connection: close\r\n"));
    });
}

TEST_CASE("a handler that never answers yields 500") {
    auto silent = [](exchange&) -> aio::task<> { co_return; };
    house h({}, silent);
    h.run([](house& h) -> aio::task<> {
        auto seen = co_await ask(h, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        CHECK(begins(seen, "HTTP/1.1 500 "));
    });
}

TEST_CASE("connections over the limit are told 503") {
    http_limits limits;
    limits.max_connections = 1;
    house h(limits, echo);
    h.run([](house& h) -> aio::task<> {
        raw_peer first(h.loop);
        co_await first.connect(h.server.port());
        co_await first.send(post("x"));
        co_await first.read_until("/mcp x");
        auto seen = co_await ask(h, post("y"));
        CHECK(begins(seen, "HTTP/1.1 503 "));
        CHECK(has(seen, "{\"error\":\"as many connections are open"));
        CHECK(h.server.counters().refused == 1);
    });
}

TEST_CASE("out of descriptors: the server waits, without spinning, and goes on when it can") {
    house h({}, echo);
    h.run([](house& h) -> aio::task<> {
        raw_peer peer(h.loop);
        peer.socket().open(asio::ip::tcp::v4());
        rlimit before{};
        ::getrlimit(RLIMIT_NOFILE, &before);
        rlimit tight{static_cast<rlim_t>(peer.socket().native_handle()) + 1, before.rlim_max};
        ::setrlimit(RLIMIT_NOFILE, &tight);
        std::vector<int> held; // the gaps below the limit
        for (int fd = ::dup(0); fd >= 0; fd = ::dup(0))
            held.push_back(fd);
        co_await peer.connect(h.server.port());
        co_await peer.send(post("patient"));
        auto started = std::clock();
        co_await aio::pause(std::chrono::milliseconds(250));
        auto used = static_cast<double>(std::clock() - started) / CLOCKS_PER_SEC;
        CHECK(h.server.counters().accepted == 0);
        CHECK(used < 0.1);
        ::setrlimit(RLIMIT_NOFILE, &before);
        for (int fd : held)
            ::close(fd);
        auto seen = co_await peer.read_until("/mcp patient");
        CHECK(begins(seen, "HTTP/1.1 200 OK"));
    });
}

TEST_CASE("header values that would end a line are not sent") {
    auto odd = [](exchange& call) -> aio::task<> {
        response out;
        out.headers.add("X-Good", "1");
        out.headers.add("X-Bad", "a\r\nX-Injected: 1");
        out.headers.add("X-Bad\r\nX-Injected", "1");
        (void)co_await call.respond(std::move(out));
    };
    house h({}, odd);
    h.run([](house& h) -> aio::task<> {
        auto seen = co_await ask(h, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        CHECK(has(seen, "X-Good: 1\r\n"));
        CHECK(!has(seen, "X-Injected"));
    });
}

TEST_CASE("a large answer reaches a peer that reads slowly") {
    auto large = [](exchange& call) -> aio::task<> {
        response out;
        out.body.assign(8 * 1024 * 1024, 'z');
        auto sent = co_await call.respond(std::move(out));
        CHECK(sent.ok());
    };
    house h({}, large);
    h.run([](house& h) -> aio::task<> {
        auto seen = co_await ask(h, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        CHECK(seen.size() - seen.find("\r\n\r\n") - 4 == 8 * 1024 * 1024);
    });
}

TEST_CASE("draining closes idle connections, lets handlers finish and takes no new ones") {
    aio::signal_flag* release = nullptr;
    auto waiting = [&release](exchange& call) -> aio::task<> {
        auto ex = co_await asio::this_coro::executor;
        aio::signal_flag flag(ex);
        release = &flag;
        co_await flag.wait();
        response out;
        out.body = "late";
        (void)co_await call.respond(std::move(out));
    };
    house h({}, waiting);
    h.run([&release](house& h) -> aio::task<> {
        raw_peer idle(h.loop);
        raw_peer busy(h.loop);
        co_await idle.connect(h.server.port());
        co_await busy.connect(h.server.port());
        co_await busy.send(post("x"));
        while (release == nullptr)
            co_await aio::pause(std::chrono::milliseconds(1));
        auto port = h.server.port();
        h.server.stop_accepting();
        auto nothing = co_await idle.read_to_end();
        CHECK(nothing.empty());
        raw_peer fresh(h.loop);
        asio::ip::tcp::endpoint to(asio::ip::address_v4::loopback(), port);
        auto got = co_await fresh.socket().async_connect(to, aio::nothrow);
        CHECK(std::get<0>(got) == asio::error::connection_refused);
        release->wake();
        auto answer = co_await busy.read_to_end();
        CHECK(has(answer, "Connection: close\r\n"));
        CHECK(answer.ends_with("late"));
    });
}

TEST_CASE("draining cancels what does not end in time") {
    bool cancelled = false;
    auto stuck = [&cancelled](exchange&) -> aio::task<> {
        auto ex = co_await asio::this_coro::executor;
        aio::signal_flag flag(ex);
        bool woken = co_await flag.wait();
        bool again = co_await flag.wait(); // and once more: one signal is not always enough
        cancelled = !woken && !again;
    };
    house h({}, stuck);
    auto body = [](house& h) -> aio::task<> {
        raw_peer peer(h.loop);
        co_await peer.connect(h.server.port());
        co_await peer.send(post("x"));
        while (h.server.counters().bytes_in == 0)
            co_await aio::pause(std::chrono::milliseconds(1));
        co_await h.server.drain(std::chrono::milliseconds(30));
    };
    h.run(body);
    CHECK(cancelled);
}
