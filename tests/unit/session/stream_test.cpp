#include "reading.hpp"
#include "session/stream.hpp"

#include <limits>

using namespace sluice;
using namespace sluice::session;
using namespace sluice::session::test;

TEST_CASE("events have positions from 1 on and come in the order of their coming") {
    place p;
    auto s = p.make(1);
    s->push_note("a");
    s->push_progress("b", 0);
    s->push_question("c");
    s->push_final("d");
    run(p.on, [](stream& from) -> task<> {
        auto got = co_await read_after(from, 0);
        CHECK(got == words{"1n:a", "2p:b", "3q:c", "4f:d", "end"});
    }(*s));
    CHECK(s->last_position() == 4);
    CHECK(s->fully_read());
}

TEST_CASE("a stream resumes after any position with exactly its rest") {
    place p;
    auto s = p.make(1);
    s->push_note("a");
    s->push_note("b");
    s->push_final("c");
    run(p.on, [](stream& from) -> task<> {
        const words all = {"1n:a", "2n:b", "3f:c", "end"};
        for (std::size_t after : {0U, 3U, 1U, 2U, 0U}) {
            auto got = co_await read_after(from, after);
            words rest(all.begin() + static_cast<std::ptrdiff_t>(after), all.end());
            CHECK(got == rest);
        }
    }(*s));
}

TEST_CASE("a position ahead of the log means from the end, also the largest number there is") {
    place p;
    auto s = p.make(1);
    s->push_note("a");
    run(p.on, [](stream& from) -> task<> {
        for (auto after :
             {std::uint64_t{1}, std::uint64_t{2}, std::numeric_limits<std::uint64_t>::max()}) {
            auto got = co_await read_after(from, after);
            CHECK(got.empty());
        }
        from.push_note("b");
        auto next = co_await read_after(from, 1);
        CHECK(next == words{"2n:b"});
    }(*s));
}

TEST_CASE("a reader that waits gets what comes, and the end when the last final was read") {
    place p;
    auto s = p.make(2);
    auto got = std::make_shared<words>();
    auto reader = [](std::shared_ptr<stream> from, std::shared_ptr<words> into) -> task<> {
        co_await aio::keep_running_when_cancelled();
        from->attach(0);
        for (;;) {
            auto e = co_await from->next(aio::test::late());
            if (!e || *e == nullptr) break;
            into->push_back(word_of(**e));
        }
        from->detach();
    };
    run(p.on,
        [](loop& on, std::shared_ptr<stream> s, task<> job, std::shared_ptr<words> into) -> task<> {
            aio::nursery crew(on.get_executor(), "test");
            crew.spawn(std::move(job));
            co_await settle();
            CHECK(into->empty());
            s->push_final("x");
            co_await settle();
            CHECK(*into == words{"1f:x"});
            CHECK_FALSE(s->done());
            s->push_final("y");
            co_await crew.join();
            CHECK(*into == words{"1f:x", "2f:y"});
            CHECK(s->done());
        }(p.on, s, reader(s, got), got));
}

TEST_CASE("nothing follows the last final") {
    place p;
    auto s = p.make(1);
    s->push_final("x");
    s->push_note("late");
    s->push_progress("late", 0);
    s->push_pause(5);
    s->push_final("late");
    run(p.on, [](stream& from) -> task<> {
        auto got = co_await read_after(from, 0);
        CHECK(got == words{"1f:x", "end"});
    }(*s));
    CHECK(p.counters.notes == 0);
}

TEST_CASE("a response that will never come is forgone, and the stream ends with the others") {
    place p;
    auto s = p.make(2);
    s->forgo_final();
    CHECK_FALSE(s->done());
    s->push_final("x");
    CHECK(s->done());
    auto alone = p.make(1);
    alone->forgo_final();
    CHECK(alone->done());
    run(p.on, [](stream& from) -> task<> {
        auto got = co_await read_after(from, 0);
        CHECK(got == words{"end"});
    }(*alone));
}

TEST_CASE("only the session's end ends a GET stream") {
    place p;
    auto s = p.make(0);
    s->push_note("a");
    CHECK_FALSE(s->done());
    s->end(ending::session_ended);
    CHECK(s->done());
    run(p.on, [](stream& from) -> task<> {
        auto got = co_await read_after(from, 0);
        CHECK(got == words{"1n:a", "end"});
    }(*s));
}

TEST_CASE("one reader at a time") {
    place p;
    auto s = p.make(1);
    CHECK(s->attach(0));
    CHECK(s->attached());
    CHECK_FALSE(s->attach(0));
    s->detach();
    CHECK(s->attach(0));
}

TEST_CASE("a reader whose connection is gone is told, and the next one begins afresh") {
    place p;
    auto s = p.make(1);
    s->push_note("a");
    run(p.on, [](stream& from) -> task<> {
        from.attach(0);
        from.close_reader();
        auto got = co_await from.next(aio::test::late());
        REQUIRE_FALSE(got);
        CHECK(got.error().code == base::errc::closed);
        from.detach();
        auto again = co_await read_after(from, 0);
        CHECK(again == words{"1n:a"});
    }(*s));
}

TEST_CASE("closing the reader ends its wait") {
    place p;
    auto s = p.make(1);
    auto code = std::make_shared<base::errc>(base::errc::internal);
    auto reader = [](std::shared_ptr<stream> from, std::shared_ptr<base::errc> into) -> task<> {
        co_await aio::keep_running_when_cancelled();
        from->attach(0);
        auto got = co_await from->next(aio::test::late());
        if (!got) *into = got.error().code;
        from->detach();
    };
    run(p.on,
        [](loop& on, std::shared_ptr<stream> s, task<> job, std::shared_ptr<base::errc> into
        ) -> task<> {
            aio::nursery crew(on.get_executor(), "test");
            crew.spawn(std::move(job));
            co_await settle();
            s->close_reader();
            co_await s->wait_detached(aio::test::late());
            CHECK_FALSE(s->attached());
            co_await crew.join();
            CHECK(*into == base::errc::closed);
        }(p.on, s, reader(s, code), code));
}

TEST_CASE("a reader that is cancelled while it waits is not told that it is time for a keep-alive"
) {
    place p;
    auto s = p.make(1);
    auto code = std::make_shared<base::errc>(base::errc::internal);
    auto reader = [](std::shared_ptr<stream> from, std::shared_ptr<base::errc> into) -> task<> {
        co_await aio::keep_running_when_cancelled();
        from->attach(0);
        auto got = co_await from->next(aio::test::late());
        if (!got) *into = got.error().code;
        from->detach();
    };
    run(p.on, [](loop& on, task<> job, std::shared_ptr<base::errc> into) -> task<> {
        aio::nursery crew(on.get_executor(), "test");
        crew.spawn(std::move(job));
        co_await settle();
        crew.stop();
        co_await crew.join();
        CHECK(*into == base::errc::cancelled);
    }(p.on, reader(s, code), code));
}

TEST_CASE("waiting for a reader to leave ends at its deadline") {
    place p;
    auto s = p.make(1);
    s->attach(0);
    run(p.on, [](stream& from) -> task<> {
        co_await from.wait_detached(aio::test::soon());
        CHECK(from.attached());
    }(*s));
}

TEST_CASE("a reader that passed nothing on goes back to the beginning") {
    place p;
    auto s = p.make(2);
    s->push_final("x");
    run(p.on, [](stream& from) -> task<> {
        from.attach(0);
        auto first = co_await read_now(from);
        CHECK(first == words{"1f:x"});
        from.rewind();
        CHECK(from.attached());
        auto again = co_await read_now(from);
        CHECK(again == words{"1f:x"});
    }(*s));
}

TEST_CASE("what a reader takes whole leaves the memory, and so does what is forgotten") {
    place p;
    auto s = p.make(1);
    s->push_note("abc");
    s->push_final("defgh");
    CHECK(s->kept_bytes() == 8);
    CHECK(p.counters.bytes == 8);
    run(p.on, [](stream& from) -> task<> {
        from.attach(1);
        auto got = co_await from.next(aio::clock::now());
        REQUIRE(got);
        auto whole = from.take(**got);
        CHECK(whole == "defgh");
    }(*s));
    CHECK(s->kept_bytes() == 3);
    CHECK(p.counters.bytes == 8); // until it was written to the host
    s->detach();
    CHECK(p.counters.bytes == 3);
    s->forget();
    CHECK(s->kept_bytes() == 0);
    CHECK(p.counters.bytes == 0);
}

TEST_CASE("a stream knows whether it holds responses alone") {
    place p;
    auto s = p.make(2);
    s->push_final("x");
    CHECK(s->holds_only_finals());
    s->push_note("between");
    CHECK_FALSE(s->holds_only_finals());
    s->push_final("y");
    CHECK_FALSE(s->holds_only_finals());
    s->forget();
    CHECK(s->holds_only_finals());
}

TEST_CASE("a stream that dies takes its bytes off the count of all streams") {
    place p;
    auto one = p.make(1);
    auto two = p.make(1);
    one->push_note("abc");
    two->push_note("de");
    CHECK(p.counters.bytes == 5);
    one.reset();
    CHECK(p.counters.bytes == 2);
}

TEST_CASE("what was sent on a stream that is never resumed is not kept") {
    place p;
    auto s = p.make(0);
    s->push_final("a");
    s->push_note("bc");
    run(p.on, [](stream& from) -> task<> {
        from.attach(0);
        auto first = co_await from.next(aio::clock::now());
        REQUIRE(first);
        from.forget_sent();
        CHECK(from.kept_bytes() == 2);
        auto second = co_await from.next(aio::clock::now());
        REQUIRE(second);
        CHECK((*second)->bytes == "bc");
        from.forget_sent();
        CHECK(from.kept_bytes() == 0);
        CHECK(from.fully_read());
        from.detach();
    }(*s));
}
