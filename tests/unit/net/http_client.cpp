#include "client_bench.hpp"
#include "net/http_server.hpp"

using namespace sluice;
using namespace sluice::net;
using namespace sluice::net::test;

TEST_CASE("a kept connection serves one request after another") {
    bench b;
    b.run([](bench& b) -> aio::task<> {
        auto serve = [](exchange& call) -> aio::task<> {
            auto body = co_await call.read_body();
            response out;
            out.body = std::string(call.head().headers.get("host").value_or("")) + " " + *body;
            out.body += call.head().headers.get("x-a").value_or("-");
            (void)co_await call.respond(std::move(out));
        };
        http_server server(b.loop, b.deadlines, {}, serve);
        REQUIRE(server.listen("127.0.0.1:0"));
        http_pool pool(b.loop, b.deadlines, *parse_url("http://" + server.local_address()), {});
        for (int i = 0; i < 4; ++i) {
            client_request request;
            request.target = "/x";
            request.body = "body";
            request.headers.add("X-A", "1");
            auto got = co_await ask(pool, std::move(request));
            CHECK(got == server.local_address() + " body1");
        }
        CHECK(pool.count().connects == 1);
        CHECK(pool.count().reuses == 3);
        CHECK(pool.count().idle == 1);
        co_await server.drain(std::chrono::seconds(2));
    });
}

TEST_CASE("a refused connection is unreachable and nothing was written") {
    bench b;
    b.run([](bench& b) -> aio::task<> {
        aio::error_code ignored;
        b.stage.door.close(ignored);
        bool wrote = true;
        auto request = get();
        auto answer = co_await b.pool.send(std::move(request), soon(), &wrote);
        REQUIRE(!answer);
        CHECK(answer.error().code == base::errc::unreachable);
        CHECK(!wrote);
        http_pool nameless(b.loop, b.deadlines, *parse_url("http://no-such-host.invalid/"), {});
        auto other = get();
        CHECK(co_await ask(nameless, std::move(other)) == "send:unreachable");
    });
}

TEST_CASE("a name is looked up once for all who connect at the same time") {
    bench b;
    b.run([](bench& b) -> aio::task<> {
        auto serve = [](exchange& call) -> aio::task<> {
            response out;
            out.body = "here";
            (void)co_await call.respond(std::move(out));
        };
        http_server server(b.loop, b.deadlines, {}, serve);
        REQUIRE(server.listen("127.0.0.1:0"));
        auto origin = *parse_url("http://localhost:" + std::to_string(server.port()));
        http_pool pool(b.loop, b.deadlines, origin, {});
        std::vector<std::string> seen;
        auto one = [](http_pool& pool, std::vector<std::string>& seen) -> aio::task<> {
            auto request = get();
            auto got = co_await ask(pool, std::move(request));
            seen.push_back(std::move(got));
        };
        for (int i = 0; i < 5; ++i)
            b.crew.spawn(one(pool, seen));
        co_await b.crew.join();
        CHECK(seen == std::vector<std::string>(5, "here"));
        co_await server.drain(std::chrono::seconds(2));
    });
}

TEST_CASE("a connection that never completes is unreachable after connect_timeout, a timeout at "
          "the deadline") {
    client_settings settings;
    settings.connect_timeout = std::chrono::milliseconds(50);
    bench b;
    b.run([settings](bench& b) -> aio::task<> {
        // A full backlog: the kernel leaves further handshakes without an answer.
        acceptor full(b.loop.get_executor());
        full.open(asio::ip::tcp::v4());
        full.bind({asio::ip::address_v4::loopback(), 0});
        full.listen(0);
        auto port = full.local_endpoint().port();
        raw_peer first(b.loop);
        co_await first.connect(port);
        http_pool pool(
            b.loop, b.deadlines, *parse_url("http://127.0.0.1:" + std::to_string(port)), settings
        );
        auto one = get();
        CHECK(co_await ask(pool, std::move(one)) == "send:unreachable");
        auto two = get();
        CHECK(
            co_await ask(pool, std::move(two), aio::clock::now() + std::chrono::milliseconds(20)) ==
            "send:timeout"
        );
    });
}

TEST_CASE("an answer that never comes: timeout, and the request is known to have left") {
    bench b;
    b.run([](bench& b) -> aio::task<> {
        std::vector<std::string> none;
        b.crew.spawn(play(b.stage, std::move(none), true));
        bool wrote = false;
        auto request = get();
        auto answer = co_await b.pool.send(
            std::move(request), aio::clock::now() + std::chrono::milliseconds(50), &wrote
        );
        REQUIRE(!answer);
        CHECK(answer.error().code == base::errc::timeout);
        CHECK(wrote);
    });
}

TEST_CASE("a connection that the peer closed while idle is not used again") {
    bench b;
    b.run([](bench& b) -> aio::task<> {
        std::string ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        for (int i = 0; i < 2; ++i) {
            std::vector<std::string> answers{ok};
            b.crew.spawn(play(b.stage, std::move(answers)));
            auto request = get();
            CHECK(co_await ask(b.pool, std::move(request)) == "ok");
            co_await b.crew.join(); // the peer has closed
        }
        CHECK(b.pool.count().connects == 2);
        CHECK(b.pool.count().reuses == 0);
    });
}

TEST_CASE("hints and closes decide whether a connection is kept") {
    bench b;
    b.run([](bench& b) -> aio::task<> {
        std::string rest = "Content-Length: 2\r\n\r\nok";
        co_await ask_scripted(b, "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1\r\n" + rest);
        CHECK(b.pool.count().idle == 0);
        co_await ask_scripted(b, "HTTP/1.1 200 OK\r\nConnection: close\r\n" + rest);
        CHECK(b.pool.count().idle == 0);
        co_await ask_scripted(b, "HTTP/1.1 200 OK\r\n" + rest + "EXTRA");
        CHECK(b.pool.count().idle == 0);
        co_await ask_scripted(b, "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=2\r\n" + rest, true);
        CHECK(b.pool.count().idle == 1);
        auto limit = soon();
        while (b.pool.count().idle > 0 && aio::clock::now() < limit)
            co_await aio::pause(std::chrono::milliseconds(10));
        CHECK(b.pool.count().idle == 0); // swept after a second
    });
}

TEST_CASE("bytes of a stream arrive as they come") {
    bench b;
    b.run([](bench& b) -> aio::task<> {
        std::vector<std::string> answers{
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n"
        };
        auto peer_job = [](bench& b, std::vector<std::string> answers) -> aio::task<> {
            auto peer = co_await b.stage.accept();
            co_await peer.read_until("\r\n\r\n");
            co_await peer.send(answers[0]);
            co_await peer.read_to_end();
        };
        b.crew.spawn(peer_job(b, std::move(answers)));
        auto request = get();
        auto answer = co_await b.pool.send(std::move(request), soon());
        REQUIRE(answer);
        auto first = co_await (*answer)->read_some(soon());
        CHECK(*first == "one");
        auto nothing =
            co_await (*answer)->read_some(aio::clock::now() + std::chrono::milliseconds(30));
        REQUIRE(!nothing);
        CHECK(nothing.error().code == base::errc::timeout);
    });
}

TEST_CASE("cancel ends a pending read, and dropping a response closes its connection") {
    bench b;
    b.run([](bench& b) -> aio::task<> {
        for (int i = 0; i < 2; ++i) {
            std::vector<std::string> answers{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            };
            b.crew.spawn(play(b.stage, std::move(answers), true));
            auto request = get();
            auto answer = co_await b.pool.send(std::move(request), soon());
            REQUIRE(answer);
            if (i == 1)
                continue; // dropped: the scripted peer sees the end, or crew.join() would hang
            auto canceller = [](client_response& it) -> aio::task<> {
                it.cancel();
                co_return;
            };
            b.crew.spawn(canceller(**answer));
            auto got = co_await (*answer)->read_some(soon());
            REQUIRE(!got);
            CHECK(got.error().code == base::errc::cancelled);
        }
        CHECK(b.pool.count().idle == 0);
    });
}

TEST_CASE("an early answer to a request that the peer will not read is still seen") {
    bench b;
    b.run([](bench& b) -> aio::task<> {
        http_limits limits;
        limits.max_body_bytes = 10;
        auto serve = [](exchange& call) -> aio::task<> {
            auto body = co_await call.read_body();
            response out;
            out.status = body ? 200 : 413;
            (void)co_await call.respond(std::move(out));
        };
        http_server server(b.loop, b.deadlines, limits, serve);
        REQUIRE(server.listen("127.0.0.1:0"));
        http_pool pool(b.loop, b.deadlines, *parse_url("http://" + server.local_address()), {});
        client_request request;
        request.target = "/";
        request.body.assign(3'000'000, 'x');
        auto answer = co_await pool.send(std::move(request), soon());
        REQUIRE(answer);
        CHECK((*answer)->head().status == 413);
        answer = base::fault();
        co_await server.drain(std::chrono::seconds(5));
    });
}

TEST_CASE("a request line that could be split is not sent") {
    bench b;
    b.run([](bench& b) -> aio::task<> {
        for (std::string target : {"/a b", "/a\r\nX: y", "", "x"}) {
            auto request = get(target);
            CHECK(co_await ask(b.pool, std::move(request)) == "send:invalid_request");
        }
        CHECK(b.pool.count().connects == 0);
    });
}
