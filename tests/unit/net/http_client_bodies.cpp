#include "client_bench.hpp"

using namespace sluice;
using namespace sluice::net;
using namespace sluice::net::test;

TEST_CASE("bodies end by length, by chunks, by close, or are absent") {
    bench b;
    b.run([](bench& b) -> aio::task<> {
        CHECK(
            co_await ask_scripted(b, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello") == "hello"
        );
        CHECK(
            co_await ask_scripted(
                b,
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: "
                "chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"
            ) == "hello"
        );
        CHECK(co_await ask_scripted(b, "HTTP/1.1 200 OK\r\n\r\nhello") == "hello");
        CHECK(co_await ask_scripted(b, "HTTP/1.0 200 OK\r\n\r\nhello") == "hello");
        CHECK(co_await ask_scripted(b, "HTTP/1.1 204 No Content\r\n\r\n") == "");
        CHECK(
            co_await ask_scripted(b, "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n") == ""
        );
        CHECK(
            co_await ask_scripted(
                b,
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nX: y\r\n\r\nHTTP/1.1 200 "
                "OK\r\nContent-Length: 2\r\n\r\nok"
            ) == "ok"
        );
    });
}

TEST_CASE("what is cut short or broken is told apart") {
    bench b;
    b.run([](bench& b) -> aio::task<> {
        CHECK(
            co_await ask_scripted(b, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello") ==
            "read:closed"
        );
        CHECK(
            co_await ask_scripted(
                b, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
            ) == "read:closed"
        );
        CHECK(
            co_await ask_scripted(
                b, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxx\r\n"
            ) == "read:protocol"
        );
        CHECK(co_await ask_scripted(b, "") == "send:closed");
        CHECK(co_await ask_scripted(b, "HTTP/1.1 200 OK\r\nX: ") == "send:closed");
        CHECK(co_await ask_scripted(b, "SSH-2.0-OpenSSH\r\n\r\n") == "send:protocol");
        CHECK(co_await ask_scripted(b, "HTTP/1.1 101 Switching\r\n\r\n") == "send:protocol");
        CHECK(
            co_await ask_scripted(b, "HTTP/1.1 200 OK\r\nX: " + std::string(70'000, 'x')) ==
            "send:protocol"
        );
        for (const char* lines :
             {"Transfer-Encoding: gzip, chunked\r\n",
              "Content-Length: 2, 2\r\n",
              "Content-Length: +2\r\n",
              "Content-Length: 2\r\nContent-Length: 2\r\n",
              "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n",
              "X: a\r\n b\r\n",
              "X : a\r\n",
              "X: a\nY: b\r\n"}) {
            CAPTURE(lines);
            auto got =
                co_await ask_scripted(b, "HTTP/1.1 200 OK\r\n" + std::string(lines) + "\r\nhi");
            CHECK(got == "send:protocol");
        }
        CHECK(co_await ask_scripted(b, "HTTP/1.1 200 OK\r\n", true) == "send:timeout");
        CHECK(
            co_await ask_scripted(b, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", true) ==
            "read:timeout"
        );
    });
}

TEST_CASE("an answer over the limit is too large, known length or not") {
    bench b;
    b.run([](bench& b) -> aio::task<> {
        CHECK(
            co_await ask_scripted(
                b, "HTTP/1.1 200 OK\r\nContent-Length: 2000000\r\n\r\nhello", true
            ) == "read:too_large"
        );
        CHECK(
            co_await ask_scripted(b, "HTTP/1.1 200 OK\r\n\r\n" + std::string(1'000'001, 'x')) ==
            "read:too_large"
        );
    });
}

TEST_CASE("a nudge wakes what is read without waiting for the sweep of deadlines") {
    auto nudge = [](client_response& what) -> aio::task<> {
        co_await aio::pause(aio::duration::zero());
        what.nudge();
    };
    bench all({}, std::chrono::hours(1));
    all.run([&](bench& b) -> aio::task<> {
        auto request = get();
        auto answer = co_await b.pool.begin(std::move(request), soon());
        REQUIRE(answer);
        auto peer = co_await b.stage.accept();
        b.crew.spawn(nudge(**answer));
        auto head = co_await (*answer)->read_head(soon());
        REQUIRE(!head);
        CHECK(head.error().code == base::errc::timeout);
        co_await peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n");
        head = co_await (*answer)->read_head(soon());
        CHECK(head);
        b.crew.spawn(nudge(**answer));
        auto some = co_await (*answer)->read_some(soon());
        REQUIRE(!some);
        CHECK(some.error().code == base::errc::timeout);
        (*answer)->nudge(); // nothing is being read
        co_await peer.send("ok");
        some = co_await (*answer)->read_some(soon());
        REQUIRE(some);
        CHECK(*some == "ok");
    });
}
