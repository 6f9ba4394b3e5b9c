#include "engines.hpp"

using namespace sluice;
using namespace sluice::state;
using namespace sluice::state::test;

namespace {
constexpr milliseconds long_enough = 60s;
}

TEST_CASE("a value is what was put last, byte for byte") {
    on_every_engine([](engine& on) -> task<> {
        auto& s = on.get();
        auto got = co_await s.get("k");
        CHECK_FALSE(good(got));
        std::string odd("a\0b\r\n\xff$5", 8);
        auto put = co_await s.put("k", "one", long_enough);
        good(put);
        put = co_await s.put("k", odd, long_enough);
        good(put);
        got = co_await s.get("k");
        CHECK(good(got) == odd);
        put = co_await s.put("empty", "", long_enough);
        good(put);
        got = co_await s.get("empty");
        CHECK(good(got) == "");
    });
}

TEST_CASE("a value is gone when its time is over, and a longer time keeps it") {
    on_every_engine([](engine& on) -> task<> {
        auto& s = on.get();
        auto put = co_await s.put("brief", "x", 40ms);
        good(put);
        put = co_await s.put("kept", "x", 40ms);
        good(put);
        auto kept = co_await s.keep("kept", long_enough);
        CHECK(good(kept));
        co_await until_gone(on, "brief");
        auto got = co_await s.get("brief");
        CHECK_FALSE(good(got));
        kept = co_await s.keep("brief", long_enough);
        CHECK_FALSE(good(kept));
        got = co_await s.get("kept");
        CHECK(good(got) == "x");
        auto left = co_await s.time_left("kept");
        auto time = good(left);
        REQUIRE(time);
        CHECK(*time <= long_enough);
        CHECK(*time > long_enough / 2);
    });
}

TEST_CASE("put_new gives way to what stands there") {
    on_every_engine([](engine& on) -> task<> {
        auto& s = on.get();
        auto first = co_await s.put_new("k", "mine", 40ms);
        CHECK_FALSE(good(first));
        auto second = co_await s.put_new("k", "yours", 40ms);
        CHECK(good(second) == "mine");
        co_await until_gone(on, "k");
        auto third = co_await s.put_new("k", "yours", long_enough);
        CHECK_FALSE(good(third));
        auto got = co_await s.get("k");
        CHECK(good(got) == "yours");
    });
}

TEST_CASE("replace wants what was expected") {
    on_every_engine([](engine& on) -> task<> {
        auto& s = on.get();
        auto done = co_await s.replace("k", "", "x", long_enough);
        CHECK_FALSE(good(done));
        auto put = co_await s.put("k", "a", long_enough);
        good(put);
        done = co_await s.replace("k", "b", "c", long_enough);
        CHECK_FALSE(good(done));
        done = co_await s.replace("k", "a", "c", long_enough);
        CHECK(good(done));
        auto got = co_await s.get("k");
        CHECK(good(got) == "c");
    });
}

TEST_CASE("erase says whether there was anything") {
    on_every_engine([](engine& on) -> task<> {
        auto& s = on.get();
        auto put = co_await s.put("k", "a", long_enough);
        good(put);
        auto was = co_await s.erase("k");
        CHECK(good(was));
        was = co_await s.erase("k");
        CHECK_FALSE(good(was));
        auto got = co_await s.get("k");
        CHECK_FALSE(good(got));
        auto left = co_await s.time_left("k");
        CHECK_FALSE(good(left));
    });
}

TEST_CASE("a key holds one kind of thing") {
    on_every_engine([](engine& on) -> task<> {
        auto& s = on.get();
        auto put = co_await s.put("value", "a", long_enough);
        good(put);
        auto made = co_await s.create("record", pair("a", "b"), long_enough);
        CHECK(good(made));
        auto got = co_await s.get("record");
        CHECK(fault_of(got) == errc::internal);
        auto read = co_await s.read("value");
        CHECK(fault_of(read) == errc::internal);
        auto set = co_await s.set("value", pair("a", "b"));
        CHECK(fault_of(set) == errc::internal);
        made = co_await s.create("value", pair("a", "b"), long_enough);
        CHECK_FALSE(good(made));
        auto there = co_await s.members("record");
        CHECK(fault_of(there) == errc::internal);
    });
}

TEST_CASE("a value over the engine's bound is refused") {
    on_every_engine([](engine& on) -> task<> {
        std::string large(65 * 1024 * 1024, 'x');
        auto put = co_await on.get().put("k", std::move(large), long_enough);
        CHECK(fault_of(put) == errc::too_large);
    });
}

TEST_CASE("a memory store over its bounds loses its oldest keys, ended ones first") {
    aio::loop loop;
    sys::hand_wound_clock clock(1'700'000'000'000);
    auto made = make_memory_store(loop, {3, 100});
    auto fill = [](store& s, sys::hand_wound_clock& clock) -> task<> {
        for (std::string key : {"a", "b", "c"}) {
            auto life = key == "b" ? 10ms : 1000ms;
            auto put = co_await s.put(key, "x", life);
            good(put);
        }
        clock.advance(11);
        auto put = co_await s.put("d", "x", 1000ms); // b has ended: nobody else leaves
        good(put);
        auto got = co_await s.get("a");
        CHECK(good(got) == "x");
        put = co_await s.put("e", "x", 1000ms);
        good(put);
        got = co_await s.get("a");
        CHECK_FALSE(good(got));
        put = co_await s.put("big", std::string(95, 'x'), 1000ms);
        good(put);
        got = co_await s.get("e");
        CHECK(good(got) == "x");
        got = co_await s.get("d");
        CHECK_FALSE(good(got));
    };
    aio::test::run(loop, fill(*made, clock));
}
