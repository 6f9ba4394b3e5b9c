#include "engines.hpp"

using namespace sluice;
using namespace sluice::state;
using namespace sluice::state::test;

using names = std::vector<std::string>;

TEST_CASE("members leave a roster by themselves, those with the least time first") {
    on_every_engine([](engine& on) -> task<> {
        auto& s = on.get();
        auto there = co_await s.members("all");
        CHECK(good(there).empty());
        auto in = co_await s.enlist("all", "long", 60s, 0);
        CHECK(good(in));
        in = co_await s.enlist("all", "brief", 60ms, 0);
        CHECK(good(in));
        in = co_await s.enlist("all", "middle", 30s, 0);
        CHECK(good(in));
        there = co_await s.members("all");
        CHECK(good(there) == names{"brief", "middle", "long"});
        in = co_await s.enlist("all", "middle", 90s, 0); // the new time counts
        CHECK(good(in));
        auto until = aio::test::late();
        auto present = names{};
        do {
            co_await on.step();
            there = co_await s.members("all");
            present = good(there);
        } while (present.size() > 2 && aio::clock::now() < until);
        CHECK(present == names{"long", "middle"});
    });
}

TEST_CASE("a full roster takes nobody new until somebody has left") {
    on_every_engine([](engine& on) -> task<> {
        auto& s = on.get();
        auto in = co_await s.enlist("all", "a", 60s, 2);
        CHECK(good(in));
        in = co_await s.enlist("all", "b", 60ms, 2);
        CHECK(good(in));
        in = co_await s.enlist("all", "c", 60s, 2);
        CHECK_FALSE(good(in));
        in = co_await s.enlist("all", "a", 60s, 2); // is on it
        CHECK(good(in));
        auto until = aio::test::late();
        bool taken = false;
        while (!taken && aio::clock::now() < until) {
            co_await on.step();
            in = co_await s.enlist("all", "c", 60s, 2);
            taken = good(in);
        }
        CHECK(taken);
        auto left = co_await s.leave("all", "a");
        CHECK(good(left));
        left = co_await s.leave("all", "a");
        CHECK_FALSE(good(left));
        auto there = co_await s.members("all");
        CHECK(good(there) == names{"c"});
    });
}
