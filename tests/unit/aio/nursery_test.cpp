#include "aio/channel.hpp"
#include "aio/within.hpp"
#include "run.hpp"

#include <memory>
#include <stdexcept>
#include <string>

using namespace sluice;
using namespace sluice::aio;
using namespace sluice::aio::test;

namespace {

task<> wait_for_cancel(std::shared_ptr<int> ended) {
    co_await keep_running_when_cancelled();
    co_await pause(patience);
    ++*ended;
}

// Cleans up over several awaits after it was cancelled.
task<> slow_to_end(std::shared_ptr<int> ended) {
    co_await keep_running_when_cancelled();
    co_await pause(patience);
    co_await settle();
    co_await settle();
    ++*ended;
}

task<> throwing(std::string what) {
    co_await keep_running_when_cancelled();
    throw std::runtime_error(what);
}

task<> note_when_started(std::shared_ptr<int> started) {
    co_await keep_running_when_cancelled();
    ++*started;
    co_await pause(patience);
}

task<> joins(nursery& crew, std::shared_ptr<int> done) {
    co_await keep_running_when_cancelled();
    co_await crew.join();
    ++*done;
}

class crash_log {
public:
    crash_log() {
        on_child_crash([this](std::string_view room, std::string_view what) {
            lines.push_back(std::string(room) + ": " + std::string(what));
        });
    }
    ~crash_log() { on_child_crash({}); }
    crash_log(const crash_log&) = delete;
    crash_log& operator=(const crash_log&) = delete;
    std::vector<std::string> lines;
};

} // namespace

TEST_CASE("join returns when the last child has ended") {
    loop on;
    run(on, [](executor ex) -> task<> {
        auto ended = std::make_shared<int>(0);
        nursery crew(ex, "test");
        for (int i = 0; i < 3; ++i) {
            auto job = slow_to_end(ended);
            crew.spawn(std::move(job));
        }
        CHECK(crew.size() == 3);
        crew.stop();
        co_await crew.join();
        CHECK(*ended == 3);
        CHECK(crew.size() == 0);
    }(on.get_executor()));
}

TEST_CASE("joining an empty nursery returns at once") {
    loop on;
    run(on, [](executor ex) -> task<> {
        nursery crew(ex, "test");
        co_await crew.join();
        co_await crew.join();
    }(on.get_executor()));
}

TEST_CASE("a child spawned on a nursery that is stopping starts, is cancelled and is joined") {
    loop on;
    run(on, [](executor ex) -> task<> {
        auto started = std::make_shared<int>(0);
        nursery crew(ex, "test");
        crew.stop();
        auto job = note_when_started(started);
        crew.spawn(std::move(job));
        auto begin = clock::now();
        co_await crew.join();
        CHECK(*started == 1);
        CHECK(clock::now() - begin < patience / 2);
    }(on.get_executor()));
}

TEST_CASE("a child that throws is reported with its room, and its siblings go on") {
    loop on;
    crash_log log;
    run(on, [](executor ex, crash_log& seen) -> task<> {
        auto ended = std::make_shared<int>(0);
        nursery crew(ex, "kitchen");
        auto sibling = wait_for_cancel(ended);
        crew.spawn(std::move(sibling));
        auto job = throwing("the soup is burnt");
        crew.spawn(std::move(job));
        co_await settle();
        CHECK(seen.lines == std::vector<std::string>{"kitchen: the soup is burnt"});
        CHECK(crew.size() == 1);
        crew.stop();
        co_await crew.join();
        CHECK(*ended == 1);
    }(on.get_executor(), log));
}

TEST_CASE("a joiner that is cancelled still joins, and still knows that it was cancelled") {
    loop on;
    run(on, [](executor ex) -> task<> {
        auto ended = std::make_shared<int>(0);
        auto cancelled_after = std::make_shared<bool>(false);
        nursery inner(ex, "inner");
        nursery outer(ex, "outer");
        auto child = wait_for_cancel(ended);
        inner.spawn(std::move(child));
        auto joiner = [](nursery& of, std::shared_ptr<bool> knows) -> task<> {
            co_await keep_running_when_cancelled();
            co_await of.join();
            auto state = co_await asio::this_coro::cancellation_state;
            *knows = state.cancelled() != asio::cancellation_type::none;
        }(inner, cancelled_after);
        outer.spawn(std::move(joiner));
        co_await settle();
        outer.stop();
        co_await settle();
        CHECK(outer.size() == 1); // still joining
        inner.stop();
        co_await outer.join();
        CHECK(*ended == 1);
        CHECK(*cancelled_after);
    }(on.get_executor()));
}

TEST_CASE("a joiner of whom cancels throw still joins") {
    loop on;
    run(on, [](executor ex) -> task<> {
        auto ended = std::make_shared<int>(0);
        auto joined = std::make_shared<bool>(false);
        nursery inner(ex, "inner");
        nursery outer(ex, "outer");
        auto child = slow_to_end(ended);
        inner.spawn(std::move(child));
        auto joiner = [](nursery& of, std::shared_ptr<bool> done) -> task<> {
            co_await of.join();
            *done = of.size() == 0;
        }(inner, joined);
        outer.spawn(std::move(joiner));
        co_await settle();
        outer.stop();
        co_await settle();
        CHECK(outer.size() == 1);
        inner.stop();
        co_await outer.join();
        CHECK(*ended == 1);
        CHECK(*joined);
    }(on.get_executor()));
}

TEST_CASE("several may join the same nursery, and none of them spins meanwhile") {
    loop on;
    auto done = std::make_shared<int>(0);
    run(on, [](executor ex, loop&, std::shared_ptr<int> count) -> task<> {
        auto ended = std::make_shared<int>(0);
        nursery work(ex, "work");
        nursery joiners(ex, "joiners");
        auto child = wait_for_cancel(ended);
        work.spawn(std::move(child));
        for (int i = 0; i < 3; ++i) {
            auto job = joins(work, count);
            joiners.spawn(std::move(job));
        }
        co_await settle();
        CHECK(*count == 0);
        work.stop();
        co_await joiners.join();
        CHECK(*count == 3);
    }(on.get_executor(), on, done));
}

TEST_CASE("two joiners that wait leave the loop idle") {
    loop on;
    auto done = std::make_shared<int>(0);
    nursery work(on.get_executor(), "work");
    nursery joiners(on.get_executor(), "joiners");
    work.spawn(wait_for_cancel(std::make_shared<int>(0)));
    for (int i = 0; i < 2; ++i)
        joiners.spawn(joins(work, done));
    while (on.poll_one() != 0) {
        static int turns = 0;
        REQUIRE(++turns < 1000);
    }
    work.stop();
    on.run_for(patience);
    CHECK(*done == 2);
    CHECK(joiners.size() == 0);
}
