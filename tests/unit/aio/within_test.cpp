#include "aio/within.hpp"
#include "run.hpp"

#include <memory>
#include <stdexcept>

using namespace sluice;
using namespace sluice::aio;
using namespace sluice::aio::test;

namespace {

using number = base::result<int>;
constexpr auto moment = std::chrono::milliseconds(3);

task<number> quick(int n) {
    co_await settle();
    co_return n;
}

task<number> failing() {
    co_await settle();
    co_return base::fault(base::errc::not_found, "no");
}

task<number> throwing() {
    co_await settle();
    throw std::runtime_error("broken");
}

// Ends when cancelled, after some cleaning up.
task<number> endless(std::shared_ptr<bool> cleaned) {
    co_await keep_running_when_cancelled();
    co_await pause(patience);
    co_await settle();
    *cleaned = true;
    co_return base::fault(base::errc::cancelled, "stopped");
}

// An operation that lets cancels throw out of its awaits.
task<number> endless_and_throwing() {
    co_await pause(patience);
    co_await settle();
    co_return 1;
}

} // namespace

TEST_CASE("an operation that ends in time gives its value, its fault or its exception") {
    loop on;
    run(on, []() -> task<> {
        auto value = co_await within<int>(patience, quick(5));
        REQUIRE(value);
        CHECK(*value == 5);
        auto fault = co_await within<int>(patience, failing());
        REQUIRE_FALSE(fault);
        CHECK(fault.error().code == base::errc::not_found);
        bool threw = false;
        try {
            auto never_there = co_await within<int>(patience, throwing());
            CHECK_FALSE(never_there);
        } catch (const std::runtime_error& e) {
            threw = std::string_view(e.what()) == "broken";
        }
        CHECK(threw);
    }());
}

TEST_CASE("an operation that is late is cancelled and joined before the timeout is told") {
    loop on;
    run(on, []() -> task<> {
        auto cleaned = std::make_shared<bool>(false);
        auto got = co_await within<int>(moment, endless(cleaned));
        REQUIRE_FALSE(got);
        CHECK(got.error().code == base::errc::timeout);
        CHECK(*cleaned);
    }());
}

TEST_CASE("an operation that throws because it was cancelled late is a timeout, too") {
    loop on;
    run(on, []() -> task<> {
        auto got = co_await within<int>(moment, endless_and_throwing());
        REQUIRE_FALSE(got);
        CHECK(got.error().code == base::errc::timeout);
    }());
}

TEST_CASE("a caller that is cancelled is not told that the deadline passed") {
    loop on;
    run(on, [](executor ex) -> task<> {
        auto cleaned = std::make_shared<bool>(false);
        auto codes = std::make_shared<std::vector<base::errc>>();
        auto caller = [](task<number> operation,
                         std::shared_ptr<std::vector<base::errc>> into) -> task<> {
            co_await keep_running_when_cancelled();
            auto got = co_await within<int>(patience, std::move(operation));
            if (!got) into->push_back(got.error().code);
        };
        nursery crew(ex, "test");
        auto patient = caller(endless(cleaned), codes);
        crew.spawn(std::move(patient));
        auto brittle = caller(endless_and_throwing(), codes);
        crew.spawn(std::move(brittle));
        co_await settle();
        crew.stop();
        co_await crew.join();
        CHECK(*cleaned);
        CHECK(*codes == std::vector<base::errc>{base::errc::cancelled, base::errc::cancelled});
    }(on.get_executor()));
}

TEST_CASE("a pause ends early when its coroutine is cancelled") {
    loop on;
    run(on, [](executor ex) -> task<> {
        nursery crew(ex, "test");
        auto sleeper = []() -> task<> {
            co_await keep_running_when_cancelled();
            co_await pause(patience);
        }();
        crew.spawn(std::move(sleeper));
        auto begin = clock::now();
        crew.stop();
        co_await crew.join();
        CHECK(clock::now() - begin < patience / 2);
    }(on.get_executor()));
}
