#include "aio/channel.hpp"
#include "scene.hpp"

using namespace sluice;
using namespace sluice::upstream;
using namespace sluice::upstream::test;
using base::errc;

namespace {

// A server of 2024-11-05: POST to the stream's URL is refused, answers go down the GET stream.
struct older {
    explicit older(server_settings about = {}, std::string endpoint = "/post?s=1")
        : endpoint(std::move(endpoint)),
          http(loop, deadlines, {}, [this](net::exchange& e) { return serve(e); }),
          down(loop.get_executor(), 1000) {
        REQUIRE(http.listen("127.0.0.1:0"));
        about.name = "old";
        about.url = "http://127.0.0.1:" + std::to_string(http.port()) + "/sse";
        surroundings around{loop, deadlines, nullptr, [](auto, auto) {}};
        under_test = make_server(around, std::move(about), {}, {});
    }

    aio::task<> serve(net::exchange& e) {
        auto body = co_await e.read_body();
        if (e.head().method == "GET") {
            ++streams;
            (void)co_await e.start_stream(event_stream());
            (void)co_await e.write("event: endpoint\ndata: " + endpoint + "\n\n");
            e.on_peer_gone([this] { down.close(); });
            for (;;) {
                auto next = co_await down.pop();
                if (!next) break;
                (void)co_await e.write(std::move(*next));
            }
            (void)co_await e.finish();
            co_return;
        }
        net::response answer;
        answer.status = e.head().path() == "/post" ? 202 : 405;
        if (answer.status == 202) take(*body);
        (void)co_await e.respond(std::move(answer));
    }

    void take(const std::string& body) {
        bodies.push_back(body);
        auto message = wire::parse_message(body);
        REQUIRE(message.ok());
        if (!message->is_request()) return;
        auto id = std::string(message->view(message->id));
        std::string result = message->method_is("initialize") ? init_result : "{}";
        if (body.find("\"hold\"") != body.npos) return;
        if (message->progress_token.present()) down.push(event(progress(id, 1)));
        if (message->method_is("tools/call")) down.push(event(wire::make_request("9", "ping")));
        down.push("event: message\n" + event(wire::make_result(id, result)));
    }

    void run(std::function<aio::task<>(older&)> body) {
        auto all = [](older& s, std::function<aio::task<>(older&)> inner) -> aio::task<> {
            co_await inner(s);
            co_await s.under_test->shut_down();
            s.down.close();
            co_await s.http.drain(std::chrono::seconds(3));
        };
        net::test::run(loop, all(*this, std::move(body)));
    }

    aio::task<base::result<std::shared_ptr<upstream::link>>> open() {
        open_request request;
        request.until = soon();
        co_return co_await under_test->open(std::move(request));
    }

    std::string endpoint;
    aio::loop loop;
    aio::deadlines deadlines{loop.get_executor()};
    net::http_server http;
    aio::channel<std::string> down;
    std::vector<std::string> bodies;
    int streams = 0;
    std::unique_ptr<server> under_test;
};

server_settings as_sse() {
    server_settings s;
    s.kind = transport::sse;
    return s;
}

} // namespace

TEST_CASE("sse: a session is opened, called with progress, and its ping answered") {
    older s(as_sse());
    s.run([](older& s) -> aio::task<> {
        auto link = co_await s.open();
        REQUIRE_MESSAGE(link.ok(), (link ? "" : link.error().message));
        CHECK((*link)->peer().revision == "2025-06-18");
        auto got = co_await test::call(**link, ask(watched_call));
        CHECK(got.notes == std::vector<std::string>{progress("2", 1)});
        CHECK(got.response == wire::make_result("2", "{}"));
        auto done = [&] { return std::ranges::count(s.bodies, wire::make_result("9", "{}")) == 1; };
        co_await until(done);
        co_await (*link)->close();
        CHECK_FALSE((*link)->usable());
    });
}

TEST_CASE("sse: an endpoint of another origin is refused") {
    for (auto endpoint :
         {"http://127.0.0.2:1/post", "//evil.example/post", "https://127.0.0.1/post"}) {
        older s(as_sse(), endpoint);
        s.run([](older& s) -> aio::task<> {
            auto link = co_await s.open();
            REQUIRE_FALSE(link.ok());
            CHECK(link.error().code == errc::protocol);
            CHECK(s.bodies.empty());
        });
    }
}

TEST_CASE("sse: a server configured as http falls back, and the verdict is kept") {
    older s;
    s.run([](older& s) -> aio::task<> {
        auto link = co_await s.open();
        REQUIRE_MESSAGE(link.ok(), (link ? "" : link.error().message));
        auto got = co_await test::call(**link, ask(plain_call));
        CHECK(!got.response.empty());
        CHECK(s.streams == 1);
    });
}

TEST_CASE("sse: when the stream ends, calls in flight end and the link is of no use") {
    older s(as_sse());
    s.run([](older& s) -> aio::task<> {
        auto link = co_await s.open();
        REQUIRE(link.ok());
        auto begun = co_await (*link)->call(
            ask(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hold"}})")
        );
        REQUIRE(begun.ok());
        auto done = [&] { return s.bodies.size() == 3; };
        co_await until(done);
        s.down.close();
        auto got = co_await listen(**begun);
        CHECK(got.fault.code == errc::closed);
        CHECK_FALSE((*link)->usable());
    });
}
