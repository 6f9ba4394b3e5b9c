#include "aio/channel.hpp"
#include "run.hpp"

#include <memory>

using namespace sluice;
using namespace sluice::aio;
using namespace sluice::aio::test;

namespace {

// What a reader saw, kept outside of it.
struct seen {
    std::vector<int> items;
    std::optional<base::fault> end;
};

task<> drain(channel<int>& from, std::shared_ptr<seen> into) {
    co_await keep_running_when_cancelled();
    for (;;) {
        auto item = co_await from.pop();
        if (!item) {
            into->end = item.error();
            co_return;
        }
        into->items.push_back(*item);
    }
}

} // namespace

TEST_CASE("items come out in the order they went in") {
    loop on;
    run(on, [](executor ex) -> task<> {
        channel<int> c(ex, 3);
        for (int i = 1; i <= 3; ++i)
            CHECK(c.push(i));
        for (int i = 1; i <= 3; ++i) {
            auto got = co_await c.pop();
            REQUIRE(got);
            CHECK(*got == i);
        }
    }(on.get_executor()));
}

TEST_CASE("a full channel refuses and leaves the item with its owner") {
    loop on;
    channel<std::unique_ptr<int>> c(on.get_executor(), 1);
    CHECK(c.push(std::make_unique<int>(1)));
    auto second = std::make_unique<int>(2);
    CHECK_FALSE(c.push(std::move(second)));
    REQUIRE(second); // NOLINT(bugprone-use-after-move)
    CHECK(*second == 2);
    CHECK(c.size() == 1);
}

TEST_CASE("a reader that waits is woken by a push") {
    loop on;
    auto got = std::make_shared<seen>();
    run(on, [](executor ex, std::shared_ptr<seen> into) -> task<> {
        channel<int> c(ex, 8);
        nursery crew(ex, "test");
        auto reader = drain(c, into);
        crew.spawn(std::move(reader));
        co_await settle();
        CHECK(c.push(1));
        CHECK(c.push(2));
        co_await settle();
        CHECK(into->items == std::vector<int>{1, 2});
        c.close();
        co_await crew.join();
    }(on.get_executor(), got));
    REQUIRE(got->end);
    CHECK(got->end->code == base::errc::closed);
}

TEST_CASE("what was pushed before the close is read after it, then comes the reason") {
    loop on;
    run(on, [](executor ex) -> task<> {
        channel<int> c(ex, 8);
        CHECK(c.push(1));
        CHECK(c.push(2));
        c.close({base::errc::protocol, "first reason"});
        c.close({base::errc::internal, "second reason"});
        CHECK_FALSE(c.push(3));
        auto one = co_await c.pop();
        auto two = co_await c.pop();
        REQUIRE(one);
        REQUIRE(two);
        CHECK(*two == 2);
        for (int i = 0; i < 2; ++i) {
            auto end = co_await c.pop();
            REQUIRE_FALSE(end);
            CHECK(end.error().code == base::errc::protocol);
            CHECK(end.error().message == "first reason");
        }
    }(on.get_executor()));
}

TEST_CASE("a pop gives up at its deadline and the channel stays of use") {
    loop on;
    run(on, [](executor ex) -> task<> {
        channel<int> c(ex, 1);
        auto nothing = co_await c.pop(soon());
        REQUIRE_FALSE(nothing);
        CHECK(nothing.error().code == base::errc::timeout);
        CHECK(c.push(7));
        auto got = co_await c.pop(soon());
        REQUIRE(got);
        CHECK(*got == 7);
    }(on.get_executor()));
}

TEST_CASE("a deadline that passed long ago still gives what is there") {
    loop on;
    run(on, [](executor ex) -> task<> {
        channel<int> c(ex, 1);
        CHECK(c.push(7));
        auto got = co_await c.pop(clock::now() - std::chrono::seconds(1));
        CHECK(got.ok());
    }(on.get_executor()));
}

TEST_CASE("a reader that is cancelled is told so, and is not told that time passed") {
    loop on;
    auto got = std::make_shared<seen>();
    run(on, [](executor ex, std::shared_ptr<seen> into) -> task<> {
        channel<int> c(ex, 8);
        nursery crew(ex, "test");
        auto reader = drain(c, into);
        crew.spawn(std::move(reader));
        co_await settle();
        crew.stop();
        co_await crew.join();
        CHECK(c.push(1)); // the channel itself is as before
        CHECK(c.size() == 1);
    }(on.get_executor(), got));
    REQUIRE(got->end);
    CHECK(got->end->code == base::errc::cancelled);
}

TEST_CASE("a wake before the wait is not lost, and counts once") {
    loop on;
    run(on, [](executor ex) -> task<> {
        signal_flag flag(ex);
        flag.wake();
        flag.wake();
        bool first = co_await flag.wait(late());
        CHECK(first);
        bool second = co_await flag.wait(soon());
        CHECK_FALSE(second);
    }(on.get_executor()));
}
