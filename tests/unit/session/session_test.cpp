#include "reading.hpp"
#include "session/session.hpp"

using namespace sluice;
using namespace sluice::session;
using namespace sluice::session::test;

namespace {

wire::token id(std::string_view json) {
    auto made = wire::token::parse(json);
    REQUIRE(made);
    return *made;
}

// A session of which a test looks at the calls and streams; nothing runs in it.
struct desk {
    loop on;
    settings bounds;
    stream_counters counters;
    identity who;

    std::unique_ptr<sluice::session::session> make() {
        return std::make_unique<sluice::session::session>(on.get_executor(), who, bounds, counters);
    }
};

// Notes when the session closed what the gateway hung on it.
class held_thing : public attachment {
public:
    explicit held_thing(std::shared_ptr<std::vector<std::string>> log) : log_(std::move(log)) {}
    aio::task<> close(bool, state::fields) override {
        log_->push_back("closed");
        co_return;
    }

private:
    std::shared_ptr<std::vector<std::string>> log_;
};

} // namespace

TEST_CASE("a cancel runs every watcher once, then ends the call's stream: a watcher may still say "
          "something") {
    desk d;
    auto s = d.make();
    auto out = s->open_stream(1);
    auto c = s->begin_call(id("7"), out, 0);
    REQUIRE(c);
    std::vector<std::string> log;
    auto note = [&](std::string who) { log.push_back(who + (out->done() ? " after" : " before")); };
    call::watch first(**c, [&] { note("first"); });
    call::watch second(**c, [&] { note("second"); });
    s->cancel(id("7"), "\"enough\"");
    s->cancel(id("7"), "\"again\"");
    CHECK(log == words{"first before", "second before"});
    CHECK((*c)->is_cancelled());
    CHECK((*c)->reason() == "\"enough\"");
}

TEST_CASE("a watcher that is gone is not run") {
    desk d;
    auto s = d.make();
    auto c = s->begin_call(id("7"), s->open_stream(1), 0);
    REQUIRE(c);
    int runs = 0;
    {
        call::watch gone(**c, [&] { ++runs; });
    }
    call::watch stays(**c, [&] { runs += 10; });
    s->cancel(id("7"), {});
    CHECK(runs == 10);
}

TEST_CASE("cancelling one request of a batch twice takes no other's response away") {
    desk d;
    auto s = d.make();
    auto out = s->open_stream(2);
    auto one = s->begin_call(id("1"), out, 0);
    auto two = s->begin_call(id("2"), out, 1);
    REQUIRE(two);
    s->cancel(id("1"), {});
    s->cancel(id("1"), {});
    CHECK_FALSE(out->done());
    out->push_final("answer of 2");
    CHECK(out->last_position() == 1);
    CHECK(out->done());
}

TEST_CASE("ids are told apart by type and text, and an unknown or ended one is ignored") {
    desk d;
    auto s = d.make();
    auto number = s->begin_call(id("1"), s->open_stream(1), 0);
    auto text = s->begin_call(id("\"1\""), s->open_stream(1), 0);
    REQUIRE(text);
    s->cancel(id("2"), {});
    s->cancel(id("\"1\""), {});
    CHECK_FALSE((*number)->is_cancelled());
    CHECK((*text)->is_cancelled());
    s->end_call(**number);
    s->cancel(id("1"), {});
    CHECK_FALSE((*number)->is_cancelled());
}

TEST_CASE("calls over the bound are refused, and an ended one makes room") {
    desk d;
    d.bounds.calls_per_session = 2;
    auto s = d.make();
    auto one = s->begin_call(id("1"), s->open_stream(1), 0);
    auto two = s->begin_call(id("2"), s->open_stream(1), 0);
    auto three = s->begin_call(id("3"), s->open_stream(1), 0);
    CHECK(two.ok());
    REQUIRE_FALSE(three);
    CHECK(three.error().code == base::errc::too_many);
    s->end_call(**one);
    CHECK(s->calls_under_way() == 1);
    CHECK(s->begin_call(id("3"), s->open_stream(1), 0).ok());
}

TEST_CASE("two calls with the same id end one by one") {
    desk d;
    auto s = d.make();
    auto one = s->begin_call(id("1"), s->open_stream(1), 0);
    auto two = s->begin_call(id("1"), s->open_stream(1), 0);
    REQUIRE(two);
    s->end_call(**one);
    s->cancel(id("1"), {});
    CHECK_FALSE((*one)->is_cancelled());
    CHECK((*two)->is_cancelled());
}

TEST_CASE("every stream has a handle of its own, and the standing one is the zeroth") {
    desk d;
    auto s = d.make();
    auto one = s->open_stream(1);
    auto two = s->open_stream(1);
    CHECK(one->handle() != two->handle());
    CHECK(s->find_stream(one->handle()) == one);
    CHECK(s->find_stream("0") == nullptr);
    auto& standing = s->standing();
    CHECK(s->find_stream("0").get() == &standing);
    CHECK(&s->standing() == &standing);
    s->drop_stream(*one);
    CHECK(s->find_stream(one->handle()) == nullptr);
    CHECK(s->find_stream("no such") == nullptr);
}

TEST_CASE("finished streams are kept for resume, the newest sixteen of them") {
    desk d;
    auto s = d.make();
    std::vector<std::string> handles;
    for (int i = 0; i < 20; ++i) {
        auto out = s->open_stream(1);
        out->push_final("x");
        handles.push_back(out->handle());
    }
    std::size_t kept = 0;
    for (const auto& h : handles)
        kept += s->find_stream(h) ? 1U : 0U;
    CHECK(kept == 16);
    CHECK(s->find_stream(handles.back()) != nullptr);
    CHECK(s->find_stream(handles.front()) == nullptr);
}

TEST_CASE("what is kept of finished streams is bounded in bytes, too, and the newest stay") {
    desk d;
    d.bounds.bytes_per_stream = 100;
    d.bounds.resume_result_max = 1000;
    auto s = d.make();
    std::string last;
    for (int i = 0; i < 12; ++i) {
        auto out = s->open_stream(1);
        out->push_final(std::string(900, 'r'));
        last = out->handle();
    }
    CHECK(d.counters.bytes <= 2 * (100 + 1000) + 900);
    CHECK(s->find_stream(last) != nullptr);
}

TEST_CASE("unfinished and attached streams are never pruned") {
    desk d;
    d.bounds.resume_window = std::chrono::milliseconds(0);
    auto s = d.make();
    auto open = s->open_stream(1);
    auto read = s->open_stream(1);
    read->attach(0);
    read->push_final("x");
    auto finished = s->open_stream(1);
    finished->push_final("x");
    CHECK(s->find_stream(open->handle()) == open);
    CHECK(s->find_stream(read->handle()) == read);
    CHECK(s->find_stream(finished->handle()) == nullptr); // its window is over
}

TEST_CASE("a result too large to keep is an error for whoever comes back for it, not a lost stream"
) {
    desk d;
    d.bounds.resume_result_max = 100;
    d.bounds.bytes_per_stream = 100;
    auto s = d.make();
    auto out = s->open_stream(1);
    out->push_final(wire::make_result("7", "\"" + std::string(5000, 'r') + "\""));
    auto found = s->find_stream(out->handle());
    REQUIRE(found == out);
    CHECK(found->kept_bytes() < 300);
    run(d.on, [](stream& from) -> task<> {
        auto got = co_await read_after(from, 0);
        REQUIRE(got.size() == 2);
        CHECK(got[0].find("\"error\"") != std::string::npos);
        CHECK(got[0].find("\"id\":7") != std::string::npos);
    }(*found));
}

TEST_CASE(
    "the end of a session cancels its calls, ends its streams, joins, and then closes what it held"
) {
    desk d;
    auto s = d.make();
    auto log = std::make_shared<std::vector<std::string>>();
    s->attach(std::make_unique<held_thing>(log));
    auto& standing = s->standing();
    auto c = s->begin_call(id("1"), s->open_stream(1), 0);
    REQUIRE(c);
    auto work = [](std::shared_ptr<call> of,
                   std::shared_ptr<std::vector<std::string>> into) -> task<> {
        co_await aio::keep_running_when_cancelled();
        auto ex = co_await aio::asio::this_coro::executor;
        aio::signal_flag flag(ex);
        call::watch on_cancel(*of, [&] { flag.wake(); });
        co_await flag.wait(aio::test::late());
        co_await settle(); // cleaning up takes its time
        into->push_back("call ended");
    };
    s->spawn(work(*c, log));
    run(d.on, [](sluice::session::session& of, std::shared_ptr<call> c) -> task<> {
        auto ex = co_await aio::asio::this_coro::executor;
        aio::nursery crew(ex, "test");
        auto life = of.live();
        crew.spawn(std::move(life));
        co_await settle();
        CHECK_FALSE(c->is_cancelled());
        of.end();
        co_await crew.join();
        CHECK(c->is_cancelled());
    }(*s, *c));
    CHECK(*log == words{"call ended", "closed"});
    CHECK(standing.done());
    auto refused = s->begin_call(id("2"), s->open_stream(1), 0);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == base::errc::closed);
}

TEST_CASE("a session is busy while a call is under way or a stream is read") {
    desk d;
    auto s = d.make();
    CHECK_FALSE(s->is_busy());
    auto out = s->open_stream(1);
    CHECK_FALSE(s->is_busy());
    auto c = s->begin_call(id("1"), out, 0);
    REQUIRE(c);
    CHECK(s->is_busy());
    s->end_call(**c);
    CHECK_FALSE(s->is_busy());
    out->attach(0);
    CHECK(s->is_busy());
    CHECK(s->attached_streams() == 1);
}
