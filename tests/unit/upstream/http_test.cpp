#include "scene.hpp"

using namespace sluice;
using namespace sluice::upstream;
using namespace sluice::upstream::test;
using base::errc;

namespace {

aio::task<> say(net::exchange& e, net::response answer) {
    (void)co_await e.respond(std::move(answer));
}

// A handler that answers every call with `result` as JSON.
scene::handler always(std::string result) {
    return [result](scene&, net::exchange& e, const seen_request& r) {
        return say(e, json(wire::make_result(id_of(r.body), result)));
    };
}

scene::handler always(int status, std::string body = "no", std::string type = "text/plain") {
    return [=](scene&, net::exchange& e, const seen_request&) {
        net::response answer;
        answer.status = status;
        answer.headers.add("Content-Type", type);
        answer.body = body;
        return say(e, std::move(answer));
    };
}

server_settings with_credential() {
    server_settings s;
    s.auth.type = auth_type::bearer_token;
    s.auth.value = base::secret("hush");
    s.static_headers.emplace_back("X-Team", base::secret("red"));
    s.extra_headers = {"x-trace"};
    return s;
}

aio::task<> stream(net::exchange& e, std::vector<std::string> events) {
    (void)co_await e.start_stream(event_stream());
    for (auto& one : events)
        (void)co_await e.write(std::move(one));
    (void)co_await e.finish();
}

aio::task<> never_answer(scene& s, net::exchange&, bool& over) {
    auto done = [&] { return over || s.count("notifications/cancelled") > 0; };
    co_await until(done);
}

} // namespace

TEST_CASE("http: a session is opened and a call answered in JSON") {
    scene s(always(R"({"big":9007199254740993})"), with_credential());
    s.run([](scene& s) -> aio::task<> {
        auto link = co_await s.open();
        CHECK(link->peer().revision == "2025-06-18");
        CHECK(link->peer().capabilities == R"({"tools":{}})");
        CHECK(link->peer().instructions == "use \"it\"");
        auto request = ask(plain_call);
        request.edits.push_back({request.message->name, "\"b\""});
        request.headers = {{"x-trace", "t1"}, {"authorization", "stolen"}, {"cookie", "c"}};
        auto got = co_await test::call(*link, std::move(request));
        CHECK(got.response == R"({"jsonrpc":"2.0","id":2,"result":{"big":9007199254740993}})");
        CHECK(got.fault.code == errc::closed);

        REQUIRE(s.seen.size() == 3);
        const auto& opened = s.seen[0];
        CHECK(opened.header("accept") == "application/json, text/event-stream");
        CHECK(opened.header("mcp-session-id").empty());
        CHECK(opened.header("mcp-protocol-version").empty());
        CHECK(opened.body.find(R"("clientInfo":{"name":"sluice")") != std::string::npos);
        CHECK(s.seen[1].is("notifications/initialized"));
        const auto& called = s.seen[2];
        CHECK(called.header("mcp-session-id") == "abc");
        CHECK(called.header("mcp-protocol-version") == "2025-06-18");
        CHECK(called.header("authorization") == "Bearer hush");
        CHECK(called.header("x-team") == "red");
        CHECK(called.header("x-trace") == "t1");
        CHECK(called.header("cookie").empty());
        CHECK(
            called.body ==
            R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"b","arguments":{"n":9007199254740993}}})"
        );
        CHECK(s.under_test->status().connects == 1);
        co_await link->close();
        CHECK(s.seen.back().head.method == "DELETE");
        CHECK(!link->usable());
    });
}

TEST_CASE("http: progress comes before the result, under our token, and the connection serves again"
) {
    scene s([](scene&, net::exchange& e, const seen_request& r) {
        auto id = id_of(r.body);
        return stream(
            e,
            {": hello\n\n",
             event(progress(id, 1)) + event(progress("99", 5)),
             event(progress(id, 2)),
             event(wire::make_result(id, "{}"))}
        );
    });
    s.run([](scene& s) -> aio::task<> {
        auto link = co_await s.open();
        for (int round = 0; round < 3; ++round) {
            auto got = co_await test::call(*link, ask(watched_call));
            auto id = std::to_string(round + 2);
            REQUIRE(got.notes.size() == 2);
            CHECK(got.notes[0] == progress(id, 1));
            CHECK(got.notes[1] == progress(id, 2));
            CHECK(got.response == wire::make_result(id, "{}"));
            auto done = [&] { return s.under_test->status().in_flight == 0; };
            co_await until(done);
        }
        CHECK(s.under_test->status().dropped_notes == 3);
        CHECK(s.under_test->status().connects <= 2);
        CHECK(s.under_test->status().reuses >= 3);
    });
}

TEST_CASE("http: a stream closed on purpose is told as a pause and resumed where it ended") {
    scene s([](scene&, net::exchange& e, const seen_request& r) {
        auto last = r.header("last-event-id");
        if (last.empty()) {
            auto id = id_of(r.body);
            return stream(e, {"id: e1\nretry: 20\ndata: \n\n", event(progress(id, 1), "e2")});
        }
        CHECK(r.head.method == "GET");
        CHECK(r.header("mcp-session-id") == "abc");
        if (last == "e2") return stream(e, {event(progress("2", 2), "e3")});
        return stream(e, {event(wire::make_result("2", "{}"), "e4")});
    });
    s.run([](scene& s) -> aio::task<> {
        auto link = co_await s.open();
        auto got = co_await test::call(*link, ask(watched_call));
        CHECK(got.notes.size() == 2);
        CHECK(got.pauses == std::vector<std::uint32_t>{20, 20});
        CHECK(got.response == wire::make_result("2", "{}"));
        CHECK(s.count("tools/call") == 1);
    });
}

TEST_CASE("http: a stream that ends without an event id leaves the outcome unknown") {
    scene s([](scene&, net::exchange& e, const seen_request& r) {
        return stream(e, {event(progress(id_of(r.body), 1))});
    });
    s.run([](scene& s) -> aio::task<> {
        auto link = co_await s.open();
        auto got = co_await test::call(*link, ask(watched_call));
        CHECK(got.notes.size() == 1);
        CHECK(got.fault.code == errc::closed);
        CHECK(got.fault.message.find("not known") != std::string::npos);
        CHECK(s.count("tools/call") == 1);
    });
}

TEST_CASE("http: a forgotten session is opened anew once, for a call that acts too") {
    scene s([](scene& s, net::exchange& e, const seen_request& r) {
        if (r.header("mcp-session-id") != s.session_id) return say(e, json("{}", 404));
        return say(e, json(wire::make_result(id_of(r.body), "{}")));
    });
    s.run([](scene& s) -> aio::task<> {
        auto link = co_await s.open();
        s.session_id = "def";
        auto first = ask(plain_call);
        auto a = co_await link->call(ask(plain_call));
        auto b = co_await link->call(ask(plain_call));
        REQUIRE(a.ok());
        REQUIRE(b.ok());
        auto got_a = co_await listen(**a);
        auto got_b = co_await listen(**b);
        CHECK(!got_a.response.empty());
        CHECK(!got_b.response.empty());
        CHECK(s.count("initialize") == 2);
        CHECK(s.count("tools/call") == 4);
        CHECK(link->usable());
    });
}

TEST_CASE("http: a server that answers 404 for ever is asked twice, not more") {
    scene s(always(404));
    s.run([](scene& s) -> aio::task<> {
        auto link = co_await s.open();
        auto got = co_await test::call(*link, ask(plain_call));
        CHECK(got.fault.code == errc::upstream_error);
        CHECK(got.fault.http_status == 404);
        CHECK(s.count("tools/call") == 2);
    });
}

TEST_CASE("http: statuses become faults") {
    struct row {
        int status;
        errc code;
    };
    for (auto [status, code] :
         {row{401, errc::unauthorized},
          row{403, errc::forbidden},
          row{500, errc::upstream_error},
          row{302, errc::upstream_error},
          row{429, errc::upstream_error}}) {
        scene s(always(status));
        s.run([=](scene& s) -> aio::task<> {
            auto link = co_await s.open();
            auto got = co_await test::call(*link, ask(plain_call, repeat::once));
            CHECK(got.fault.code == code);
            CHECK(got.fault.http_status == status);
            CHECK(got.fault.message.find("no") == std::string::npos);
        });
    }
}

TEST_CASE("http: a JSON-RPC error for our id is delivered whatever its status") {
    scene s([](scene&, net::exchange& e, const seen_request& r) {
        return say(e, json(wire::make_error(id_of(r.body), -32602, "bad"), 400));
    });
    s.run([](scene& s) -> aio::task<> {
        auto link = co_await s.open();
        auto got = co_await test::call(*link, ask(plain_call));
        CHECK(got.response == wire::make_error("2", -32602, "bad"));
    });
}

TEST_CASE("http: answers that break the protocol") {
    for (std::string body :
         {R"({"jsonrpc":"2.0","id":"2","result":{}})",
          R"({"jsonrpc":"2.0","id":3,"result":{}})",
          R"({"jsonrpc":"2.0","id":2,"id":2,"result":{}})",
          R"({"jsonrpc":"2.0","id":2})",
          R"({"jsonrpc":"2.0","method":"notifications/message"})",
          "hello",
          "[]",
          ""}) {
        scene s(always(200, body, "application/json; charset=utf-8"));
        s.run([&](scene& s) -> aio::task<> {
            auto link = co_await s.open();
            auto got = co_await test::call(*link, ask(plain_call));
            CHECK_MESSAGE(got.fault.code == errc::protocol, body);
            CHECK(got.response.empty());
        });
    }
}

TEST_CASE("http: a batch is delivered message by message") {
    scene s([](scene&, net::exchange& e, const seen_request& r) {
        auto id = id_of(r.body);
        return say(e, json("[" + progress(id, 1) + "," + wire::make_result(id, "{}") + "]"));
    });
    s.run([](scene& s) -> aio::task<> {
        auto link = co_await s.open();
        auto got = co_await test::call(*link, ask(watched_call));
        CHECK(got.notes.size() == 1);
        CHECK(got.response == wire::make_result("2", "{}"));
    });
}

TEST_CASE("http: the upstream's ping is answered on the side, its other requests are the caller's"
) {
    scene s([](scene& s, net::exchange& e, const seen_request& r) -> aio::task<> {
        if (!r.is("tools/call")) {
            co_await say(e, json("", 202));
            co_return;
        }
        (void)co_await e.start_stream(event_stream());
        (void)co_await e.write(event(wire::make_request("\"p\"", "ping")));
        (void)co_await e.write(event(wire::make_request("5", "roots/list")));
        auto done = [&] { return s.seen.size() >= 4; };
        co_await until(done);
        (void)co_await e.write(event(wire::make_result("2", "{}")));
        (void)co_await e.finish();
    });
    s.run([](scene& s) -> aio::task<> {
        auto link = co_await s.open();
        auto got = co_await test::call(*link, ask(plain_call));
        CHECK(got.response == wire::make_result("2", "{}"));
        CHECK(got.notes == std::vector<std::string>{wire::make_request("5", "roots/list")});
        REQUIRE(s.seen.size() == 4);
        CHECK(s.seen[3].body == wire::make_result("\"p\"", "{}"));
    });
}

TEST_CASE("http: a call can be called off while its answer has not begun") {
    bool over = false;
    scene s([&](scene& s, net::exchange& e, const seen_request&) {
        return never_answer(s, e, over);
    });
    s.run([&](scene& s) -> aio::task<> {
        auto link = co_await s.open();
        auto begun = co_await link->call(ask(plain_call));
        REQUIRE(begun.ok());
        auto early = co_await (*begun)->next(aio::clock::now() + std::chrono::milliseconds(30));
        CHECK(early.error().code == errc::timeout);
        aio::timer later(s.loop.get_executor());
        later.expires_after(std::chrono::milliseconds(20));
        later.async_wait([&](aio::error_code) { (*begun)->interrupt(); });
        auto got = co_await (*begun)->next(soon());
        CHECK(got.error().code == errc::cancelled);
        co_await (*begun)->cancel("\"bored\"");
        over = true;
        const auto* told = s.first("notifications/cancelled");
        REQUIRE(told != nullptr);
        CHECK(
            told->body ==
            R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"bored"}})"
        );
    });
}

TEST_CASE("http: the late answer to a call that was called off is dropped and counted") {
    scene s([](scene& s, net::exchange& e, const seen_request& r) -> aio::task<> {
        auto done = [&] { return s.count("notifications/cancelled") > 0; };
        co_await until(done);
        co_await say(e, json(wire::make_result(id_of(r.body), "{}")));
    });
    s.run([](scene& s) -> aio::task<> {
        auto link = co_await s.open();
        auto begun = co_await link->call(ask(plain_call));
        REQUIRE(begun.ok());
        (*begun)->interrupt();
        auto got = co_await (*begun)->next(soon());
        CHECK(got.error().code == errc::cancelled);
        co_await (*begun)->cancel("");
        got = co_await (*begun)->next(soon());
        CHECK(got.error().code == errc::cancelled);
        begun = base::fault(errc::internal, "dropped");
        auto done = [&] { return s.under_test->status().late_results == 1; };
        co_await until(done);
    });
}

TEST_CASE("http: no more calls at once than the settings allow") {
    bool over = false;
    server_settings about;
    about.max_concurrent_requests = 1;
    scene s(
        [&](scene& s, net::exchange& e, const seen_request&) { return never_answer(s, e, over); },
        about
    );
    s.run([&](scene& s) -> aio::task<> {
        auto link = co_await s.open();
        auto first = co_await link->call(ask(plain_call));
        REQUIRE(first.ok());
        auto second = co_await test::call(*link, ask(plain_call));
        CHECK(second.fault.code == errc::too_many);
        over = true;
        first = base::fault(errc::internal, "dropped");
        CHECK(s.under_test->status().in_flight == 0);
    });
}

TEST_CASE("http: a server that is not there is left alone after some failures") {
    circuit_settings rules;
    rules.failures = 2;
    rules.open_for = std::chrono::milliseconds(100);
    scene s(always("{}"), {}, rules);
    s.run([](scene& s) -> aio::task<> {
        auto link = co_await s.open();
        co_await s.http.drain(std::chrono::seconds(1));
        auto first = co_await test::call(*link, ask(plain_call));
        auto second = co_await test::call(*link, ask(plain_call));
        CHECK(first.fault.code == errc::unreachable);
        CHECK(second.fault.code == errc::unreachable);
        CHECK(s.under_test->status().circuit == circuit_state::open);
        auto third = co_await test::call(*link, ask(plain_call));
        CHECK(third.fault.message.find("left alone") != std::string::npos);
        CHECK(s.said.size() == 1);
    });
}

TEST_CASE("http: a redirect is followed once, within its origin only") {
    std::string where = "/elsewhere";
    scene s([&](scene&, net::exchange& e, const seen_request& r) {
        if (r.head.target == "/elsewhere")
            return say(e, json(wire::make_result(id_of(r.body), "{}")));
        auto answer = json("", 307);
        answer.headers.add("Location", where);
        return say(e, std::move(answer));
    });
    s.run([&](scene& s) -> aio::task<> {
        auto link = co_await s.open();
        where = "http://127.0.0.2:1/elsewhere";
        auto refused = co_await test::call(*link, ask(plain_call));
        CHECK(refused.fault.http_status == 307);
        where = "/elsewhere";
        auto got = co_await test::call(*link, ask(plain_call));
        CHECK(!got.response.empty());
    });
}
