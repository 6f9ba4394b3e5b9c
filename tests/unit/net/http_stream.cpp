#include "aio/channel.hpp"
#include "house.hpp"

using namespace sluice;
using namespace sluice::net;
using test::house;
using test::raw_peer;

namespace {

const std::string ask_text = "GET /s HTTP/1.1\r\nHost: a\r\n\r\n";

response_head sse() {
    response_head head;
    head.headers.add("Content-Type", "text/event-stream");
    return head;
}

// Streams what the test pushes; finishes when the channel is closed.
struct tap {
    explicit tap(aio::loop& loop) : lines(loop.get_executor(), 100), gone(loop.get_executor()) {}
    aio::channel<std::string> lines;
    aio::signal_flag gone;
    int times_gone = 0;
    base::result<void> last;
    bool ended = false;
};

aio::task<> pour(tap& from, exchange& call) {
    auto started = co_await call.start_stream(sse());
    CHECK(started.ok());
    call.on_peer_gone([&from] {
        ++from.times_gone;
        from.gone.wake();
        from.lines.close();
    });
    for (;;) {
        auto line = co_await from.lines.pop();
        if (!line) break;
        from.last = co_await call.write(std::move(*line));
        if (!from.last) break;
    }
    (void)co_await call.finish();
    from.ended = true;
}

struct stream_house {
    explicit stream_house(http_limits limits = {})
        : place(limits, [this](exchange& call) { return pour(*water, call); }),
          water(std::make_unique<tap>(place.loop)) {}
    house place;
    std::unique_ptr<tap> water;
};

aio::task<> until(std::function<bool()> met) {
    auto limit = aio::clock::now() + test::patience;
    while (!met() && aio::clock::now() < limit)
        co_await aio::pause(std::chrono::milliseconds(1));
    CHECK(met());
}

} // namespace

TEST_CASE("a stream is chunked, one chunk a write, and its connection kept") {
    stream_house s;
    s.place.run([&s](house& h) -> aio::task<> {
        raw_peer peer(h.loop);
        co_await peer.connect(h.server.port());
        co_await peer.send(ask_text);
        auto head = co_await peer.read_until("\r\n\r\n");
        CHECK(head.starts_with("HTTP/1.1 200 OK\r\n"));
        CHECK(head.find("Transfer-Encoding: chunked\r\n") != head.npos);
        CHECK(head.find("Content-Length") == head.npos);
        s.water->lines.push("data: 1\n\n");
        auto one = co_await peer.read_until("\n\n\r\n");
        CHECK(one == "9\r\ndata: 1\n\n\r\n");
        s.water->lines.push("");
        s.water->lines.push(std::string(300, 'x'));
        auto two = co_await peer.read_until("x\r\n");
        CHECK(two == "12c\r\n" + std::string(300, 'x') + "\r\n");
        s.water->lines.close();
        auto end = co_await peer.read_until("0\r\n\r\n");
        CHECK(end == "0\r\n\r\n");

        s.water = std::make_unique<tap>(h.loop);
        s.water->lines.close();
        co_await peer.send(ask_text);
        auto again = co_await peer.read_until("0\r\n\r\n");
        CHECK(again.starts_with("HTTP/1.1 200 OK\r\n"));
        CHECK(h.server.counters().accepted == 1);
    });
}

TEST_CASE("a stream to an HTTP/1.0 peer is raw and ends with the connection") {
    stream_house s;
    s.place.run([&s](house& h) -> aio::task<> {
        raw_peer peer(h.loop);
        co_await peer.connect(h.server.port());
        co_await peer.send("GET /s HTTP/1.0\r\n\r\n");
        s.water->lines.push("data: 1\n\n");
        s.water->lines.close();
        auto all = co_await peer.read_to_end();
        CHECK(all.find("chunked") == all.npos);
        CHECK(all.ends_with("\r\n\r\ndata: 1\n\n"));
    });
}

TEST_CASE(
    "a stream goes on as it began when its head is forgotten, and the next request has its own"
) {
    house place({}, [](exchange& call) -> aio::task<> {
        auto target = call.head().target;
        auto started = co_await call.start_stream(sse());
        CHECK(started.ok());
        call.forget_head();
        CHECK(call.head().target.empty());
        CHECK(call.head().headers.all().empty());
        (void)co_await call.write("at " + target);
        (void)co_await call.finish();
    });
    place.run([](house& h) -> aio::task<> {
        raw_peer peer(h.loop);
        co_await peer.connect(h.server.port());
        co_await peer.send("HEAD /one HTTP/1.1\r\nHost: a\r\n\r\n");
        auto head = co_await peer.read_until("\r\n\r\n");
        CHECK(head.starts_with("HTTP/1.1 200 OK\r\n"));
        co_await peer.send("GET /two HTTP/1.1\r\nHost: a\r\n\r\n");
        auto chunked = co_await peer.read_until("0\r\n\r\n");
        CHECK(chunked.starts_with("HTTP/1.1 200 OK\r\n"));
        CHECK(chunked.ends_with("\r\n\r\n7\r\nat /two\r\n0\r\n\r\n"));
        raw_peer old(h.loop);
        co_await old.connect(h.server.port());
        co_await old.send("GET /three HTTP/1.0\r\n\r\n");
        auto raw = co_await old.read_to_end();
        CHECK(raw.ends_with("\r\n\r\nat /three"));
    });
}

TEST_CASE("a stream that is not finished is cut without its last chunk") {
    house place({}, [](exchange& call) -> aio::task<> {
        (void)co_await call.start_stream(sse());
        (void)co_await call.write("half");
    });
    place.run([](house& h) -> aio::task<> {
        raw_peer peer(h.loop);
        co_await peer.connect(h.server.port());
        co_await peer.send(ask_text);
        auto all = co_await peer.read_to_end();
        CHECK(all.ends_with("4\r\nhalf\r\n"));
    });
}

TEST_CASE("the handler learns once, and at once, that the peer closed or half-closed") {
    for (bool half : {false, true}) {
        CAPTURE(half);
        stream_house s;
        s.place.run([&s, half](house& h) -> aio::task<> {
            raw_peer peer(h.loop);
            co_await peer.connect(h.server.port());
            co_await peer.send(ask_text);
            co_await peer.read_until("\r\n\r\n");
            aio::error_code ignored;
            if (half) peer.socket().shutdown(tcp_socket::shutdown_send, ignored);
            if (!half) peer.close();
            bool woken = co_await s.water->gone.wait(aio::clock::now() + test::patience);
            CHECK(woken);
            auto met = [&s] { return s.water->ended; };
            co_await until(met);
        });
        CHECK(s.water->times_gone == 1);
    }
}

TEST_CASE("a request sent early on a streaming connection is no departure, and is served next") {
    stream_house s;
    s.place.run([&s](house& h) -> aio::task<> {
        raw_peer peer(h.loop);
        co_await peer.connect(h.server.port());
        co_await peer.send(ask_text);
        co_await peer.read_until("\r\n\r\n");
        co_await peer.send(ask_text);
        for (int i = 0; i < 20; ++i) {
            s.water->lines.push("tick");
            co_await peer.read_until("tick\r\n");
        }
        CHECK(s.water->times_gone == 0);
        s.water->lines.close();
        co_await peer.read_until("0\r\n\r\n");
        auto next = co_await peer.read_until("0\r\n\r\n");
        CHECK(next.starts_with("HTTP/1.1 200 OK\r\n"));
    });
}

TEST_CASE("writing to a peer that left is closed; to one that does not read, timeout") {
    http_limits limits;
    limits.write_timeout = std::chrono::milliseconds(80);
    stream_house s(limits);
    s.place.run([&s](house& h) -> aio::task<> {
        raw_peer stuck(h.loop);
        co_await stuck.connect(h.server.port());
        co_await stuck.send(ask_text);
        co_await stuck.read_until("\r\n\r\n");
        s.water->lines.push(std::string(20'000'000, 'x'));
        auto met = [&s] { return s.water->ended; };
        co_await until(met);
        REQUIRE(!s.water->last);
        CHECK(s.water->last.error().code == base::errc::timeout);
    });
    house place({}, [&s](exchange& call) -> aio::task<> {
        (void)co_await call.start_stream(sse());
        for (int i = 0; i < 100'000 && s.water->last.ok(); ++i) {
            s.water->last = co_await call.write(std::string(10'000, 'x'));
        }
        s.water->ended = true;
    });
    s.water = std::make_unique<tap>(place.loop);
    place.run([&s](house& h) -> aio::task<> {
        raw_peer peer(h.loop);
        co_await peer.connect(h.server.port());
        co_await peer.send(ask_text);
        co_await peer.read_until("\r\n\r\n");
        peer.close();
        auto met = [&s] { return s.water->ended; };
        co_await until(met);
        REQUIRE(!s.water->last);
        CHECK(s.water->last.error().code == base::errc::closed);
    });
    s.water.reset(); // before the loop it belongs to
}

TEST_CASE("a slow reader gets every byte in order") {
    house place({}, [](exchange& call) -> aio::task<> {
        (void)co_await call.start_stream(sse());
        for (int i = 0; i < 200; ++i) {
            auto sent = co_await call.write(std::string(50'000, static_cast<char>('a' + i % 26)));
            CHECK(sent.ok());
        }
        (void)co_await call.finish();
    });
    place.run([](house& h) -> aio::task<> {
        raw_peer peer(h.loop);
        co_await peer.connect(h.server.port());
        co_await peer.send("GET /s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        auto all = co_await peer.read_to_end();
        std::string expected;
        for (int i = 0; i < 200; ++i) {
            expected += "c350\r\n" + std::string(50'000, static_cast<char>('a' + i % 26)) + "\r\n";
        }
        expected += "0\r\n\r\n";
        CHECK(all.substr(all.find("\r\n\r\n") + 4) == expected);
    });
}

TEST_CASE("draining ends open streams after the limit") {
    stream_house s;
    s.place.run([](house& h) -> aio::task<> {
        raw_peer peer(h.loop);
        co_await peer.connect(h.server.port());
        co_await peer.send(ask_text);
        co_await peer.read_until("\r\n\r\n");
        co_await h.server.drain(std::chrono::milliseconds(30));
        auto rest = co_await peer.read_to_end();
        CHECK(peer.ended());
    });
    CHECK(s.water->times_gone == 0);
}
