// The standing stream of a session: what belongs to no call, and questions that come beside their
// call.
#include "scene.hpp"

using namespace sluice;
using namespace sluice::upstream;
using namespace sluice::upstream::test;

namespace {

const std::string changed = R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})";
const std::string question =
    R"({"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"m"}})";

struct ear final : listener {
    void heard(const wire::message& note) override { notes.push_back(note.bytes); }
    void reopened() override { ++reopenings; }
    void lost() override { ++losses; }
    void missed() override { ++gaps; }
    std::vector<std::string> notes;
    int reopenings = 0;
    int losses = 0;
    int gaps = 0;
};

// A GET says `lines`, then stays open until the session has ended; a call waits for an answer to
// the question or, when it asks none, answers at once.
struct talk {
    std::vector<std::string> lines;
    std::string first; // the whole of the first stream, which then ends
    std::size_t streams = 0;
    bool waits = false;
    int get_status = 200;
    bool over = false;
};

aio::task<> serve_get(net::exchange& e, talk& t) {
    if (t.get_status != 200) {
        net::response refusal;
        refusal.status = t.get_status;
        (void)co_await e.respond(std::move(refusal));
        co_return;
    }
    (void)co_await e.start_stream(event_stream());
    if (++t.streams == 1 && !t.first.empty()) {
        (void)co_await e.write(t.first);
        (void)co_await e.finish();
        co_return;
    }
    for (const auto& line : t.lines)
        (void)co_await e.write(event(line));
    auto done = [&t] { return t.over; };
    co_await until(done);
}

aio::task<> serve_post(scene& s, net::exchange& e, std::string id, const talk& t) {
    auto answered = [&s] {
        for (const auto& one : s.seen) {
            if (one.body.find("\"id\":\"q\"") != one.body.npos) return true;
        }
        return false;
    };
    if (t.waits) co_await until(answered);
    (void)co_await e.respond(json(wire::make_result(id, "{}")));
}

scene::handler speaking(talk& t) {
    return [&t](scene& s, net::exchange& e, const seen_request& r) -> aio::task<> {
        if (r.head.method == "GET") return serve_get(e, t);
        return serve_post(s, e, id_of(r.body), t);
    };
}

std::size_t gets(const scene& s) {
    std::size_t n = 0;
    for (const auto& one : s.seen)
        n += one.head.method == "GET";
    return n;
}

} // namespace

TEST_CASE("standing: a session that declares nothing opens no stream until it is asked to") {
    talk t;
    t.lines = {changed};
    scene s(speaking(t));
    s.run([&t](scene& s) -> aio::task<> {
        auto link = co_await s.open();
        auto who = std::make_shared<ear>();
        link->add_listener(who);
        auto got = co_await test::call(*link, ask(plain_call));
        CHECK(!got.response.empty());
        CHECK(gets(s) == 0);
        link->open_standing();
        auto heard = [&] { return !who->notes.empty(); };
        co_await until(heard);
        CHECK(who->notes.front() == changed);
        co_await link->close();
        t.over = true;
        CHECK(who->losses == 0);
    });
    CHECK(gets(s) == 1);
}

TEST_CASE("standing: a question goes to the only call there is") {
    talk t;
    t.lines = {question};
    t.waits = true;
    scene s(speaking(t));
    s.run([&t](scene& s) -> aio::task<> {
        auto link = co_await s.open();
        auto begun = co_await link->call(ask(plain_call));
        REQUIRE(begun.ok());
        link->open_standing();
        auto first = co_await (*begun)->next(soon());
        REQUIRE(first.ok());
        CHECK(first->message.bytes == question);
        auto told = co_await link->notify(wire::make_result("\"q\"", "{}"), soon());
        CHECK(told.ok());
        auto last = co_await (*begun)->next(soon());
        REQUIRE(last.ok());
        CHECK(last->message.is_response());
        co_await link->close();
        t.over = true;
    });
}

TEST_CASE("standing: a question of no call is refused") {
    talk t;
    t.lines = {question};
    scene s(speaking(t));
    s.run([&t](scene& s) -> aio::task<> {
        auto link = co_await s.open();
        link->open_standing();
        auto refused = [&s] { return s.seen.back().body.find("-32602") != std::string::npos; };
        co_await until(refused);
        co_await link->close();
        t.over = true;
    });
}

TEST_CASE("standing: an upstream that has no such stream is asked once") {
    talk t;
    t.get_status = 405;
    scene s(speaking(t));
    s.run([](scene& s) -> aio::task<> {
        auto link = co_await s.open();
        link->open_standing();
        auto asked = [&s] { return gets(s) == 1; };
        co_await until(asked);
        auto got = co_await test::call(*link, ask(plain_call));
        CHECK(!got.response.empty());
        co_await link->close();
    });
    CHECK(gets(s) == 1);
}

TEST_CASE("standing: a stream that comes back without a place to go on from has a gap") {
    talk t;
    t.first = "retry: 20\ndata:\n\n";
    t.lines = {changed};
    scene s(speaking(t));
    s.run([&t](scene& s) -> aio::task<> {
        auto link = co_await s.open();
        auto who = std::make_shared<ear>();
        link->add_listener(who);
        link->open_standing();
        auto heard = [&] { return !who->notes.empty(); };
        co_await until(heard);
        CHECK(who->gaps == 1);
        CHECK(t.streams == 2);
        co_await link->close();
        t.over = true;
    });
}

TEST_CASE("standing: a stream that goes on from its last event id has no gap") {
    talk t;
    t.first = "id: 7\nretry: 20\ndata:\n\n";
    t.lines = {changed};
    scene s(speaking(t));
    s.run([&t](scene& s) -> aio::task<> {
        auto link = co_await s.open();
        auto who = std::make_shared<ear>();
        link->add_listener(who);
        link->open_standing();
        auto heard = [&] { return !who->notes.empty(); };
        co_await until(heard);
        CHECK(who->gaps == 0);
        CHECK(s.seen.back().head.headers.get("last-event-id") == "7");
        co_await link->close();
        t.over = true;
    });
}
