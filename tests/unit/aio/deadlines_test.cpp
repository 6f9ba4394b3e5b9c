#include "aio/deadlines.hpp"
#include "aio/within.hpp"
#include "run.hpp"

using namespace sluice::aio;
using namespace sluice::aio::test;

namespace {

constexpr auto tick = std::chrono::milliseconds(1);

instant in_ms(int n) {
    return clock::now() + std::chrono::milliseconds(n);
}

// Waits until the deadline after `at` must have been swept.
task<> wait_past(instant at) {
    while (clock::now() < at)
        co_await pause(tick);
    co_await pause(5 * tick);
}

} // namespace

TEST_CASE("a deadline that passes calls its action once, and not before its time") {
    loop on;
    run(on, [](executor ex) -> task<> {
        deadlines all(ex, tick);
        int calls = 0;
        auto at = in_ms(3);
        auto called_at = never;
        auto held = all.arm(at, [&] {
            ++calls;
            called_at = clock::now();
        });
        CHECK_FALSE(held.fired());
        co_await wait_past(in_ms(15));
        CHECK(calls == 1);
        CHECK(called_at >= at);
        CHECK(held.fired());
    }(on.get_executor()));
}

TEST_CASE("a deadline that is disarmed, or whose guard is gone, is never called") {
    loop on;
    run(on, [](executor ex) -> task<> {
        deadlines all(ex, tick);
        int calls = 0;
        auto first = all.arm(in_ms(2), [&] { ++calls; });
        {
            auto second = all.arm(in_ms(2), [&] { ++calls; });
        }
        first.disarm();
        first.disarm();
        co_await wait_past(in_ms(8));
        CHECK(calls == 0);
        CHECK_FALSE(first.fired());
    }(on.get_executor()));
}

TEST_CASE("a deadline that is moved away waits for its new time, also after it fired") {
    loop on;
    run(on, [](executor ex) -> task<> {
        deadlines all(ex, tick);
        int calls = 0;
        auto held = all.arm(in_ms(2), [&] { ++calls; });
        held.move_to(never);
        co_await wait_past(in_ms(8));
        CHECK(calls == 0);
        held.move_to(in_ms(1));
        co_await wait_past(in_ms(8));
        CHECK(calls == 1);
        held.move_to(in_ms(1));
        CHECK_FALSE(held.fired());
        co_await wait_past(in_ms(8));
        CHECK(calls == 2);
    }(on.get_executor()));
}

TEST_CASE("a guard that moves takes its deadline along and disarms what it held") {
    loop on;
    run(on, [](executor ex) -> task<> {
        deadlines all(ex, tick);
        int first = 0;
        int second = 0;
        auto held = all.arm(in_ms(2), [&] { ++first; });
        auto other = all.arm(in_ms(2), [&] { ++second; });
        held = std::move(other);
        deadlines::guard third(std::move(held));
        co_await wait_past(in_ms(8));
        CHECK(first == 0);
        CHECK(second == 1);
        CHECK(third.fired());
    }(on.get_executor()));
}

TEST_CASE("an action may end the waits of others, who then give up their deadlines") {
    loop on;
    run(on, [](executor ex) -> task<> {
        deadlines all(ex, tick);
        nursery crew(ex, "test");
        auto ended = std::make_shared<int>(0);
        auto victim = [](deadlines& in, std::shared_ptr<int> count) -> task<> {
            co_await keep_running_when_cancelled();
            auto state_ex = co_await asio::this_coro::executor;
            timer t(state_ex);
            t.expires_at(never);
            auto held = in.arm(in_ms(2), [&] { t.cancel(); });
            co_await t.async_wait(nothrow);
            CHECK(held.fired());
            ++*count;
        };
        for (int i = 0; i < 5; ++i) {
            auto job = victim(all, ended);
            crew.spawn(std::move(job));
        }
        co_await crew.join();
        CHECK(*ended == 5);
    }(on.get_executor()));
}

TEST_CASE("a near deadline is called in time whatever far ones were armed before it") {
    loop on;
    run(on, [](executor ex) -> task<> {
        deadlines all(ex, tick);
        int near = 0;
        int far = 0;
        auto first = all.arm(clock::now() + std::chrono::hours(1), [&] { ++far; });
        auto second = all.arm(in_ms(4), [&] { ++near; });
        auto third = all.arm(in_ms(1), [&] { ++near; });
        co_await wait_past(in_ms(12));
        CHECK(near == 2);
        CHECK(far == 0);
        first.move_to(in_ms(1));
        co_await wait_past(in_ms(8));
        CHECK(far == 1);
    }(on.get_executor()));
}

TEST_CASE("nothing ticks while nothing is armed") {
    loop on;
    deadlines all(on.get_executor(), tick);
    {
        auto held = all.arm(never, [] {});
    }
    on.run_for(patience);
    CHECK(on.stopped()); // the loop ran out of work
    on.restart();
    int calls = 0;
    auto again = all.arm(clock::now(), [&] {
        ++calls;
        on.stop();
    });
    on.run_for(patience);
    CHECK(calls == 1);
}
