// The bounds of a stream, and what leaves when they are reached.
#include "reading.hpp"
#include "session/stream.hpp"

#include <random>

using namespace sluice;
using namespace sluice::session;
using namespace sluice::session::test;

namespace {

place small(std::size_t events, std::size_t bytes = 1000) {
    settings bounds;
    bounds.events_per_stream = events;
    bounds.bytes_per_stream = bytes;
    return place{{}, bounds, {}};
}

} // namespace

TEST_CASE("events that were sent leave first, so nothing unsent is lost") {
    settings bounds;
    bounds.events_per_stream = 3;
    place p{{}, bounds, {}};
    auto s = p.make(1);
    for (auto text : {"a", "b", "c"})
        s->push_note(text);
    run(p.on, [](stream& from) -> task<> {
        auto first = co_await read_after(from, 0);
        CHECK(first == words{"1n:a", "2n:b", "3n:c"});
        for (auto text : {"d", "e", "f"})
            from.push_note(text);
        auto rest = co_await read_after(from, 3);
        CHECK(rest == words{"4n:d", "5n:e", "6n:f"});
    }(*s));
    CHECK(p.counters.dropped == 0);
}

TEST_CASE("a host that resumes before what is kept gets what is kept, in order") {
    settings bounds;
    bounds.events_per_stream = 2;
    place p{{}, bounds, {}};
    auto s = p.make(1);
    run(p.on, [](stream& from) -> task<> {
        for (auto text : {"a", "b", "c", "d"}) {
            from.push_note(text);
            auto seen = co_await read_after(from, from.last_position() - 1);
            CHECK(seen.size() == 1);
        }
        auto got = co_await read_after(from, 0);
        CHECK(got == words{"3n:c", "4n:d"});
    }(*s));
}

TEST_CASE(
    "when nothing was sent the newest progress of a call replaces its older one and stays in order"
) {
    settings bounds;
    bounds.events_per_stream = 3;
    place p{{}, bounds, {}};
    auto s = p.make(2);
    s->push_progress("one 1", 1);
    s->push_note("n");
    s->push_progress("two 1", 2);
    s->push_progress("one 2", 1);
    s->push_progress("one 3", 1);
    run(p.on, [](stream& from) -> task<> {
        auto got = co_await read_after(from, 0);
        CHECK(got == words{"2n:n", "3p:two 1", "5p:one 3"});
    }(*s));
    CHECK(p.counters.coalesced == 2);
    CHECK(p.counters.dropped == 0);
}

TEST_CASE("when no progress can give way the oldest unsent note goes, and is counted") {
    settings bounds;
    bounds.events_per_stream = 2;
    place p{{}, bounds, {}};
    auto s = p.make(1);
    for (auto text : {"a", "b", "c"})
        s->push_note(text);
    run(p.on, [](stream& from) -> task<> {
        auto got = co_await read_after(from, 0);
        CHECK(got == words{"2n:b", "3n:c"});
    }(*s));
    CHECK(p.counters.dropped == 1);
    CHECK(p.counters.notes == 3);
}

TEST_CASE("the bound in bytes counts notes as the one in events does") {
    settings bounds;
    bounds.bytes_per_stream = 10;
    place p{{}, bounds, {}};
    auto s = p.make(1);
    s->push_note("aaaa");
    s->push_note("bbbb");
    s->push_note("cccc");
    run(p.on, [](stream& from) -> task<> {
        auto got = co_await read_after(from, 0);
        CHECK(got == words{"2n:bbbb", "3n:cccc"});
    }(*s));
}

TEST_CASE("one note above the bound is still delivered") {
    settings bounds;
    bounds.bytes_per_stream = 10;
    place p{{}, bounds, {}};
    auto s = p.make(1);
    s->push_note(std::string(50, 'x'));
    run(p.on, [](stream& from) -> task<> {
        auto got = co_await read_after(from, 0);
        CHECK(got == words{"1n:" + std::string(50, 'x')});
    }(*s));
}

TEST_CASE("a large final costs none of the notes before it, sent or not") {
    settings bounds;
    bounds.bytes_per_stream = 10;
    place p{{}, bounds, {}};
    auto s = p.make(1);
    run(p.on, [](stream& from) -> task<> {
        from.push_note("a");
        auto sent = co_await read_after(from, 0);
        CHECK(sent.size() == 1);
        from.push_note("b");
        from.push_final(std::string(100, 'r'));
        auto got = co_await read_after(from, 0);
        CHECK(got == words{"1n:a", "2n:b", "3f:" + std::string(100, 'r'), "end"});
    }(*s));
    CHECK(p.counters.dropped == 0);
}

TEST_CASE("the finals of a batch stay, and keep no sent note from leaving") {
    settings bounds;
    bounds.events_per_stream = 2;
    place p{{}, bounds, {}};
    auto s = p.make(4);
    run(p.on, [](stream& from) -> task<> {
        from.push_final("x");
        from.push_note("a");
        from.push_note("b");
        from.push_final("y");
        auto sent = co_await read_after(from, 0);
        CHECK(sent.size() == 4);
        from.push_note("c");
        from.push_note("d");
        auto rest = co_await read_after(from, 0);
        CHECK(rest == words{"1f:x", "4f:y", "5n:c", "6n:d"});
    }(*s));
    CHECK(p.counters.dropped == 0);
}

TEST_CASE("an unsent question is never dropped; notes and progress give way to it") {
    settings bounds;
    bounds.events_per_stream = 2;
    place p{{}, bounds, {}};
    auto s = p.make(1);
    s->push_note("a");
    s->push_question("q1");
    s->push_question("q2");
    s->push_note("b");
    run(p.on, [](stream& from) -> task<> {
        auto got = co_await read_after(from, 0);
        CHECK(got == words{"2q:q1", "3q:q2", "4n:b"});
    }(*s));
}

TEST_CASE("sent questions leave after all other sent events, and then they do") {
    settings bounds;
    bounds.events_per_stream = 3;
    place p{{}, bounds, {}};
    auto s = p.make(1);
    run(p.on, [](stream& from) -> task<> {
        from.push_question("q1");
        from.push_note("a");
        from.push_note("b");
        auto sent = co_await read_after(from, 0);
        CHECK(sent.size() == 3);
        from.push_note("c");
        from.push_note("d");
        auto kept = co_await read_after(from, 0);
        CHECK(kept == words{"1q:q1", "4n:c", "5n:d"});
        for (int i = 0; i < 100; ++i) {
            from.push_question("q");
            auto seen = co_await read_after(from, from.last_position() - 1);
            CHECK(seen.size() == 1);
        }
        auto rest = co_await read_after(from, 0);
        CHECK(rest.size() == 3);
    }(*s));
}

TEST_CASE("pauses that nobody read do not pile up") {
    settings bounds;
    bounds.events_per_stream = 5;
    place p{{}, bounds, {}};
    auto s = p.make(1);
    for (std::uint32_t i = 1; i <= 100; ++i)
        s->push_pause(i);
    run(p.on, [](stream& from) -> task<> {
        from.attach(0);
        auto got = co_await from.next(aio::clock::now());
        REQUIRE(got);
        CHECK((*got)->retry_ms == 100);
        auto more = co_await from.next(aio::clock::now());
        CHECK_FALSE(more);
        from.detach();
        for (std::uint32_t i = 1; i <= 100; ++i) {
            from.push_note("n");
            from.push_pause(i);
        }
        auto kept = co_await read_after(from, 1);
        CHECK(kept.size() <= 5);
    }(*s));
}

TEST_CASE(
    "a slow reader of ten thousand progress notes gets the newest and the result, in bounded memory"
) {
    place p = small(100);
    auto s = p.make(1);
    std::size_t most = 0;
    for (int i = 1; i <= 10'000; ++i) {
        s->push_progress("progress " + std::to_string(i), 0);
        most = std::max(most, s->kept_bytes());
    }
    s->push_final("result");
    CHECK(most <= 1000);
    run(p.on, [](stream& from) -> task<> {
        auto got = co_await read_after(from, 0);
        REQUIRE(got.size() >= 3);
        CHECK(got[got.size() - 3] == "10000p:progress 10000");
        CHECK(got[got.size() - 2] == "10001f:result");
    }(*s));
}

TEST_CASE("whatever is pushed and whenever it is read, order holds and finals and questions arrive"
) {
    std::mt19937 dice(5);
    auto pick = [&](std::size_t most) {
        return std::uniform_int_distribution<std::size_t>(0, most)(dice);
    };
    for (int round = 0; round < 200; ++round) {
        place p = small(1 + pick(6), 1 + pick(60));
        auto s = p.make(50);
        std::vector<std::size_t> plan;
        for (int i = 0; i < 60; ++i)
            plan.push_back(pick(5));
        run(p.on, [](stream& from, std::vector<std::size_t> steps) -> task<> {
            std::size_t owed = 0;
            std::size_t came = 0;
            std::uint64_t last = 0;
            from.attach(0);
            for (auto step : steps) {
                if (step == 0) from.push_note("note");
                if (step == 1) from.push_progress("progress", 1);
                if (step == 2) from.push_progress("progress", 2);
                if (step == 3) from.push_final("final");
                if (step == 4) from.push_question("question");
                if (step == 3 || step == 4) ++owed;
                if (step != 5) continue;
                for (;;) {
                    auto got = co_await from.next(aio::clock::now());
                    if (!got || *got == nullptr) break;
                    REQUIRE((*got)->position > last);
                    last = (*got)->position;
                    bool kept =
                        (*got)->kind == event_kind::final || (*got)->kind == event_kind::question;
                    if (kept) ++came;
                }
                REQUIRE(came == owed);
            }
        }(*s, plan));
        auto held = s->kept_bytes();
        REQUIRE(p.counters.bytes == held);
        s.reset();
        REQUIRE(p.counters.bytes == 0);
    }
}
