#include "engines.hpp"

using namespace sluice;
using namespace sluice::state;
using namespace sluice::state::test;

namespace {
constexpr milliseconds long_enough = 60s;
}

TEST_CASE("a record is made once and read whole, in the order of its names") {
    on_every_engine([](engine& on) -> task<> {
        auto& s = on.get();
        auto none = co_await s.read("r");
        CHECK_FALSE(good(none));
        fields first = {{"b", "2"}, {"a", ""}, {"c", std::string("\0\n", 2)}};
        auto made = co_await s.create("r", first, long_enough);
        CHECK(good(made));
        made = co_await s.create("r", pair("a", "other"), long_enough);
        CHECK_FALSE(good(made));
        auto all = co_await s.read("r");
        CHECK(good(all) == fields{{"a", ""}, {"b", "2"}, {"c", std::string("\0\n", 2)}});
        auto one = co_await s.read_field("r", "b");
        CHECK(good(one) == "2");
        one = co_await s.read_field("r", "z");
        CHECK_FALSE(good(one));
        one = co_await s.read_field("nowhere", "b");
        CHECK_FALSE(good(one));
    });
}

TEST_CASE("a record may have no fields yet") {
    on_every_engine([](engine& on) -> task<> {
        auto& s = on.get();
        auto made = co_await s.create("r", fields(), long_enough);
        CHECK(good(made));
        auto all = co_await s.read("r");
        auto got = good(all);
        REQUIRE(got);
        CHECK(got->empty());
    });
}

TEST_CASE("a write never revives a record that has ended") {
    on_every_engine([](engine& on) -> task<> {
        auto& s = on.get();
        auto made = co_await s.create("r", pair("a", "1"), 40ms);
        CHECK(good(made));
        fields later = {{"a", "2"}, {"b", "3"}};
        auto done = co_await s.set("r", later);
        CHECK(good(done));
        auto all = co_await s.read("r");
        CHECK(good(all) == fields{{"a", "2"}, {"b", "3"}});
        co_await until_gone(on, "r");
        done = co_await s.set("r", pair("a", "4"));
        CHECK_FALSE(good(done));
        auto stood = co_await s.set_new("r", "a", "4");
        CHECK(fault_of(stood) == errc::not_found);
        done = co_await s.set_if("r", "a", "2", "4");
        CHECK_FALSE(good(done));
        done = co_await s.unset("r", "a");
        CHECK_FALSE(good(done));
        all = co_await s.read("r");
        CHECK_FALSE(good(all));
    });
}

TEST_CASE("a field is set only where it is not, or where it is as expected") {
    on_every_engine([](engine& on) -> task<> {
        auto& s = on.get();
        auto made = co_await s.create("r", fields(), long_enough);
        CHECK(good(made));
        auto stood = co_await s.set_new("r", "owner", "me");
        CHECK_FALSE(good(stood));
        stood = co_await s.set_new("r", "owner", "you");
        CHECK(good(stood) == "me");
        auto done = co_await s.set_if("r", "owner", "you", "she");
        CHECK_FALSE(good(done));
        done = co_await s.set_if("r", "nothing", "", "she");
        CHECK_FALSE(good(done));
        done = co_await s.set_if("r", "owner", "me", "she");
        CHECK(good(done));
        auto now = co_await s.read_field("r", "owner");
        CHECK(good(now) == "she");
        done = co_await s.set_if("r", "owner", "she", "");
        CHECK(good(done));
        now = co_await s.read_field("r", "owner");
        CHECK_FALSE(good(now));
        stood = co_await s.set_new("r", "owner", "you");
        CHECK_FALSE(good(stood));
        done = co_await s.unset("r", "owner");
        CHECK(good(done));
        done = co_await s.unset("r", "owner");
        CHECK_FALSE(good(done));
    });
}

TEST_CASE("a write leaves the record's end as it is, unless told") {
    on_every_engine([](engine& on) -> task<> {
        auto& s = on.get();
        auto made = co_await s.create("r", pair("a", "1"), long_enough);
        CHECK(good(made));
        auto done = co_await s.set("r", pair("a", "2"));
        CHECK(good(done));
        auto left = co_await s.time_left("r");
        auto time = good(left);
        REQUIRE(time);
        CHECK(*time > long_enough / 2);
        done = co_await s.keep("r", 40ms);
        CHECK(good(done));
        co_await until_gone(on, "r");
    });
}
