// What one replica passes on to another.
#include "peer_house.hpp"

#include <set>

using namespace sluice;
using namespace sluice::front;
using namespace sluice::front::test;

TEST_CASE("a request is served by another replica as if the host had come there") {
    crossing all;
    all.run([](crossing& c) -> aio::task<> {
        house a(c, echo, c.seals);
        house b(c, echo, c.seals);
        co_await a.ready();
        co_await b.ready();
        a.home = b.everybody.self();
        auto request = post("{}");
        auto got = co_await ask(c, a.front.local_address(), std::move(request));
        CHECK(got.status == 202);
        CHECK(got.body == "alice:{}");
        CHECK(got.headers.get("x-seen") == "POST /up/mcp");
        CHECK(got.headers.get("x-session") == "s-1");
        CHECK(got.headers.get("x-key") == "none"); // a host's key stays with whom it was shown
        CHECK_FALSE(got.headers.get(served_by_header));
        CHECK(metric(a.meters, "sluice_peer_requests_total{outcome=\"ok\"}") == 1);
        CHECK(metric(a.meters, "sluice_peer_request_seconds_count") == 1);
        co_await a.close();
        co_await b.close();
    });
}

TEST_CASE("a long answer of known length comes through whole") {
    crossing all;
    all.run([](crossing& c) -> aio::task<> {
        auto large = [](net::exchange& http, policy::caller) -> aio::task<> {
            net::response out;
            out.body = std::string(3'000'000, 'x');
            [[maybe_unused]] auto sent = co_await http.respond(std::move(out));
        };
        house a(c, echo, c.seals);
        house b(c, large, c.seals);
        co_await a.ready();
        co_await b.ready();
        a.home = b.everybody.self();
        auto request = post("{}");
        auto got = co_await ask(c, a.front.local_address(), std::move(request));
        CHECK(got.whole);
        CHECK(got.body.size() == 3'000'000);
        co_await a.close();
        co_await b.close();
    });
}

TEST_CASE("a stream is piped as it comes, and a host that leaves ends it at the other replica") {
    crossing all;
    all.run([](crossing& c) -> aio::task<> {
        bool gone = false;
        std::string next = "one";
        auto stream = [&](net::exchange& http, policy::caller) -> aio::task<> {
            net::response_head head;
            head.headers.add("Content-Type", "text/event-stream");
            auto opened = co_await http.start_stream(std::move(head));
            REQUIRE(opened);
            http.on_peer_gone([&] { gone = true; });
            while (!gone) {
                if (!next.empty()) {
                    auto text = std::exchange(next, {});
                    [[maybe_unused]] auto w = co_await http.write(std::move(text));
                }
                co_await aio::pause(1ms);
            }
        };
        house a(c, echo, c.seals);
        house b(c, stream, c.seals);
        co_await a.ready();
        co_await b.ready();
        a.home = b.everybody.self();
        auto url = net::parse_url("http://" + a.front.local_address());
        net::http_pool pool(c.loop, c.deadlines, *url, {});
        auto request = post("{}");
        auto answer = co_await pool.send(std::move(request), aio::test::late());
        REQUIRE(answer);
        CHECK((*answer)->head().headers.get("content-type") == "text/event-stream");
        auto some = co_await (*answer)->read_some(aio::test::late());
        REQUIRE(some);
        CHECK(*some == "one");
        next = "two";
        some = co_await (*answer)->read_some(aio::test::late());
        REQUIRE(some);
        CHECK(*some == "two");
        CHECK_FALSE(gone);
        answer->reset();
        auto until = aio::test::late();
        while (!gone && aio::clock::now() < until)
            co_await aio::pause(1ms);
        CHECK(gone);
        co_await a.close();
        co_await b.close();
    });
}

TEST_CASE("a stream that is cut, or silent for too long, is cut for the host as well") {
    crossing all;
    all.run([](crossing& c) -> aio::task<> {
        bool silent = false;
        auto cut = [&](net::exchange& http, policy::caller) -> aio::task<> {
            net::response_head head;
            auto opened = co_await http.start_stream(std::move(head));
            REQUIRE(opened);
            [[maybe_unused]] auto w = co_await http.write("one");
            if (silent) co_await aio::pause(600ms);
        };
        house a(c, echo, c.seals);
        house b(c, cut, c.seals);
        co_await a.ready();
        co_await b.ready();
        a.home = b.everybody.self();
        for (bool once : {false, true}) {
            silent = once;
            auto start = aio::clock::now();
            auto request = post("{}");
            auto got = co_await ask(c, a.front.local_address(), std::move(request));
            CHECK(got.status == 200);
            CHECK(got.body == "one");
            CHECK_FALSE(got.whole);
            CHECK(aio::clock::now() - start < 500ms);
        }
        co_await a.close();
        co_await b.close();
    });
}

TEST_CASE("a replica that is gone, silent or unreachable is a 503 that may be tried again") {
    crossing all;
    all.run([](crossing& c) -> aio::task<> {
        auto silent = [](net::exchange&, policy::caller) -> aio::task<> {
            co_await aio::pause(300ms);
        };
        house a(c, echo, c.seals);
        house b(c, silent, c.seals);
        co_await a.ready();
        co_await b.ready();
        auto put = co_await c.store->put("replica:shut", "127.0.0.1:1", 10s);
        REQUIRE(put);
        std::pair<std::string, std::string> cases[] = {
            {"never-was", "gone"}, {b.everybody.self(), "timeout"}, {"shut", "unreachable"}
        };
        for (const auto& [home, outcome] : cases) {
            CAPTURE(outcome);
            a.home = home;
            auto start = aio::clock::now();
            auto request = post(R"({"jsonrpc":"2.0","id":"x","method":"ping"})");
            auto got = co_await ask(c, a.front.local_address(), std::move(request));
            CHECK(aio::clock::now() - start < 250ms);
            CHECK(got.status == 503);
            CHECK(got.headers.get("retry-after") == "1");
            CHECK(got.body.find(R"("id":"x")") != std::string::npos);
            CHECK(got.body.find("-32603") != std::string::npos);
            auto name = "sluice_peer_requests_total{outcome=\"" + outcome + "\"}";
            CHECK(metric(a.meters, name) == 1);
        }
        co_await a.close();
        co_await b.close();
    });
}

TEST_CASE("what was passed on once is never passed on again") {
    crossing all;
    all.run([](crossing& c) -> aio::task<> {
        house* second = nullptr;
        house* third = nullptr;
        int arrived = 0;
        auto on = [&](net::exchange& http, policy::caller who) -> aio::task<> {
            hop to;
            to.replica = third->everybody.self();
            to.principal = who->id;
            to.forwarded = true; // as front::serve_forwarded marks every visit of this door
            co_await second->out.pass_on(http, std::move(to));
        };
        auto count = [&](net::exchange& http, policy::caller who) -> aio::task<> {
            ++arrived;
            co_await echo(http, who);
        };
        house a(c, echo, c.seals);
        house b(c, on, c.seals);
        house d(c, count, c.seals);
        second = &b;
        third = &d;
        co_await a.ready();
        co_await b.ready();
        co_await d.ready();
        a.home = b.everybody.self();
        auto request = post("{}");
        auto got = co_await ask(c, a.front.local_address(), std::move(request));
        CHECK(got.status == 503);
        CHECK(arrived == 0);
        co_await a.close();
        co_await b.close();
        co_await d.close();
    });
}

TEST_CASE("every other live replica hears what is told to all") {
    crossing all;
    all.run([](crossing& c) -> aio::task<> {
        std::multiset<std::string> heard;
        auto hear = [&](std::string name) {
            return [&heard, name](net::exchange& http, policy::caller who) -> aio::task<> {
                auto body = co_await http.read_body();
                heard.insert(name + *body + who->name);
                net::response out;
                out.status = 202;
                [[maybe_unused]] auto sent = co_await http.respond(std::move(out));
            };
        };
        house a(c, hear("a"), c.seals);
        house b(c, hear("b"), c.seals);
        house d(c, hear("d"), c.seals);
        co_await a.ready();
        co_await b.ready();
        co_await d.ready();
        auto dead = co_await c.store->enlist("replicas", "dead 127.0.0.1:1", 10s, 0);
        REQUIRE(dead);
        net::request_head head;
        head.method = "POST";
        head.target = "/mcp";
        auto alice = a.keys.find("sk-alice")->id;
        auto said = co_await a.out.tell_others(head, alice, "!");
        CHECK(said.asked == 3);
        CHECK(said.acknowledged == 2);
        CHECK(heard == std::multiset<std::string>{"b!alice", "d!alice"});
        hop to;
        to.replica = d.everybody.self();
        to.principal = alice;
        to.body = "?";
        auto one = co_await a.out.tell(head, to);
        REQUIRE(one);
        CHECK(*one == 202);
        CHECK(heard.count("d?alice") == 1);
        co_await a.close();
        co_await b.close();
        co_await d.close();
    });
}

TEST_CASE(
    "what a server said goes to one replica with the server's name, and a host cannot claim it"
) {
    crossing all;
    all.run([](crossing& c) -> aio::task<> {
        int status = 202;
        std::string seen;
        auto take = [&](net::exchange& http, policy::caller) -> aio::task<> {
            auto body = co_await http.read_body();
            seen = http.head().target + " " + *body;
            net::response out;
            out.status = status;
            [[maybe_unused]] auto sent = co_await http.respond(std::move(out));
        };
        house a(c, take, c.seals);
        house b(c, take, c.seals);
        co_await a.ready();
        co_await b.ready();
        auto alice = a.keys.find("sk-alice")->id;
        auto to_b = [&] {
            return gateway::forwarded_message{
                b.everybody.self(), alice, "session", "/mcp/up", "up", "{}"
            };
        };
        auto taken = co_await a.out.deliver(to_b());
        REQUIRE(taken);
        CHECK(*taken);
        CHECK(seen == "/at/mcp/up {}");
        CHECK(b.said_by == "up");
        status = nobody_waits;
        auto refused = co_await a.out.deliver(to_b());
        REQUIRE(refused);
        CHECK_FALSE(*refused);
        status = 404;
        auto unknown = co_await a.out.deliver(to_b());
        REQUIRE(unknown);
        CHECK_FALSE(*unknown);
        net::client_request forged;
        forged.method = "POST";
        forged.target = "/mcp";
        forged.headers.add("x-sluice-peer-said-by", "up");
        a.home = b.everybody.self();
        status = 200;
        auto got = co_await ask(c, a.front.local_address(), std::move(forged));
        CHECK(got.status == 200);
        CHECK(b.said_by.empty());
        co_await a.close();
        co_await b.close();
    });
}
