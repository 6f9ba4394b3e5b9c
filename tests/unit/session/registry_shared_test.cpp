#include "aio/within.hpp"
#include "registries.hpp"
#include "sys/clock.hpp"

using namespace sluice;
using namespace sluice::session;
using namespace sluice::session::test;

namespace {

settings one_a_key() {
    settings bounds;
    bounds.sessions_per_key = 1;
    return bounds;
}

} // namespace

TEST_CASE("with a shared store a key's room is the store's to give, and its full roster says no") {
    two both(one_a_key());
    both.run([](two& p) -> task<> {
        auto first = co_await p.open(p.a);
        auto second = p.a.open(of_key("alice"));
        REQUIRE(second); // nothing is ended for it
        CHECK_FALSE(first->is_ending());
        auto refused = co_await p.of_a.create((*second)->who());
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code == base::errc::too_many);
        auto unkept = p.a.open_throw_away(of_key("alice"));
        REQUIRE_FALSE(unkept); // that has no place on the roster
        CHECK(unkept.error().code == base::errc::too_many);
    });
}

TEST_CASE("room is made by the session that no replica has used for a minute, for all of them") {
    two both(one_a_key());
    both.run([](two& p) -> task<> {
        auto first = co_await p.open(p.a);
        auto who = first->who();
        bool room = co_await p.b.make_room_in_store("alice");
        CHECK_FALSE(room);
        co_await p.age(who.key, std::chrono::seconds(59));
        room = co_await p.b.make_room_in_store("alice");
        CHECK_FALSE(room);
        room = co_await p.b.make_room_in_store("bob");
        CHECK_FALSE(room);
        co_await p.age(who.key, std::chrono::seconds(61));
        room = co_await p.b.make_room_in_store("alice");
        CHECK(room);
        auto gone = co_await p.of_a.find(who.id);
        REQUIRE(gone);
        CHECK_FALSE(*gone);
        auto next = co_await p.open(p.b);
        CHECK_FALSE(next->is_ending());
    });
}

TEST_CASE("a session that is busy here makes no room, whatever the store last heard of it") {
    two both(one_a_key());
    both.run([](two& p) -> task<> {
        auto first = co_await p.open(p.a);
        auto call = first->begin_call(wire::token::of(1), first->open_stream(1), 0);
        REQUIRE(call);
        co_await p.age(first->who().key, std::chrono::minutes(5));
        bool room = co_await p.a.make_room_in_store("alice");
        CHECK_FALSE(room);
        CHECK_FALSE(first->is_ending());
    });
}

TEST_CASE("a place on the roster whose record has gone makes room") {
    two both(one_a_key());
    both.run([](two& p) -> task<> {
        auto listed = co_await p.store->enlist("k:alice", "gone", std::chrono::minutes(5), 0);
        REQUIRE(listed);
        bool room = co_await p.b.make_room_in_store("alice");
        CHECK(room);
        auto next = co_await p.open(p.b);
        CHECK_FALSE(next->is_ending());
    });
}

namespace {

settings of_age() {
    settings bounds;
    bounds.max_age = std::chrono::hours(24);
    return bounds;
}

struct ending_seen : attachment {
    explicit ending_seen(std::shared_ptr<int> count) : for_all_count(std::move(count)) {}
    task<> close(bool for_all, state::fields) override {
        if (for_all) ++*for_all_count;
        co_return;
    }
    std::shared_ptr<int> for_all_count;
};

constexpr std::int64_t a_day = 24LL * 3600 * 1000;

} // namespace

TEST_CASE("a session older than its age is found by no replica, also when it is in use") {
    sys::hand_wound_clock clock(1'700'000'000'000);
    two both(of_age());
    both.run([&clock](two& p) -> task<> {
        auto closed = std::make_shared<int>(0);
        auto make = [closed](auto&) { return std::make_unique<ending_seen>(closed); };
        p.a.attach_to_each(make);
        p.b.attach_to_each(make);
        auto here = co_await p.open(p.a);
        auto id = here->who().id;
        auto there = co_await p.b.adopt(id, "alice");
        REQUIRE(there);
        REQUIRE(there->here);
        auto busy = there->here->begin_call(wire::token::of(1), there->here->open_stream(1), 0);
        REQUIRE(busy);
        for (int hour = 0; hour < 23; ++hour) { // in use all the time
            clock.advance(3'600'000);
            CHECK(p.a.find(id, "alice") == here);
            auto kept = co_await p.of_a.keep(here->who());
            REQUIRE(kept);
            CHECK(*kept);
        }
        clock.advance(3'599'999);
        CHECK(p.a.find(id, "alice") == here);
        CHECK(p.b.find(id, "alice") == there->here);
        clock.advance(1);
        CHECK(p.a.find(id, "alice") == nullptr);
        CHECK(p.b.find(id, "alice") == nullptr);
        auto again = co_await p.b.adopt(id, "alice");
        REQUIRE(again);
        CHECK(again->here == nullptr);
        auto record = co_await p.of_a.find(id);
        REQUIRE(record);
        CHECK_FALSE(*record); // for a third replica, too
        again = co_await p.a.adopt(id, "alice");
        REQUIRE(again);
        CHECK(again->here == nullptr);
        there->here->end_call(**busy);
        co_await settle();
        CHECK(p.a.size() == 0);
        CHECK(p.b.size() == 0);
        CHECK(*closed == 1); // upstream sessions end once
    });
}

TEST_CASE("a replica that never had a session ends what is left of it when it is too old") {
    sys::hand_wound_clock clock(1'700'000'000'000);
    auto bounds = of_age();
    bounds.idle_ttl = std::chrono::hours(48);
    two both(bounds);
    both.run([&clock](two& p) -> task<> {
        auto closed = std::make_shared<int>(0);
        p.b.attach_to_each([closed](auto&) { return std::make_unique<ending_seen>(closed); });
        auto here = co_await p.open(p.a);
        auto id = here->who().id;
        here->end_here();
        co_await settle();
        clock.advance(a_day);
        auto there = co_await p.b.adopt(id, "alice");
        REQUIRE(there);
        CHECK(there->here == nullptr);
        co_await settle();
        CHECK(*closed == 1);
        CHECK(p.b.size() == 0);
        auto listed = co_await p.store->members("k:alice");
        REQUIRE(listed);
        CHECK(listed->empty());
    });
}

TEST_CASE("without a request an old session ends by itself, with a store that is shared and without"
) {
    sys::hand_wound_clock clock(1'700'000'000'000);
    auto bounds = of_age();
    bounds.max_age = std::chrono::milliseconds(8); // how often it is looked at goes with it
    two both(bounds);
    both.run([&clock](two& p) -> task<> {
        p.a.start_keeping([] { return std::map<std::string, std::string>(); });
        auto here = co_await p.open(p.a);
        here->standing().attach(0); // a host that listens
        auto id = here->who().id;
        clock.advance(a_day);
        bool gone = co_await gone_within_patience(p.a, id, "alice");
        CHECK(gone);
    });
    with_registry(bounds, [&clock](registry& in) -> task<> {
        auto opened = in.open(of_key("alice"));
        REQUIRE(opened);
        (*opened)->standing().attach(0);
        auto thrown = in.open_throw_away(of_key("alice"));
        REQUIRE(thrown);
        clock.advance(a_day);
        CHECK(in.find((*opened)->who().id, "alice") == nullptr);
        co_await settle();
        CHECK(in.size() == 1); // one for a single request has no age
        auto other = in.open(of_key("bob"));
        REQUIRE(other);
        (*other)->standing().attach(0);
        (*thrown)->end();
        clock.advance(a_day);
        bool gone = co_await gone_within_patience(in, (*other)->who().id, "bob");
        CHECK(gone);
    });
}
TEST_CASE("an idle session that no replica has a copy of is ended all the same, with what it held"
) {
    settings bounds;
    bounds.idle_ttl = std::chrono::milliseconds(80); // how often it is looked at goes with it
    two both(bounds);
    both.run([](two& p) -> task<> {
        auto closed = std::make_shared<int>(0);
        p.b.attach_to_each([closed](auto&) { return std::make_unique<ending_seen>(closed); });
        p.b.start_keeping([] { return std::map<std::string, std::string>{{"alice", "a key"}}; });
        auto left = co_await p.open(p.a);
        left->end_here();
        auto used = co_await p.open(p.b);
        auto key = left->who().key;
        auto until = aio::test::late();
        while (*closed == 0 && aio::clock::now() < until) {
            used->touch();
            co_await aio::pause(std::chrono::milliseconds(1));
        }
        CHECK(*closed == 1);
        auto record = co_await p.of_b.find_by_key(std::move(key));
        REQUIRE(record);
        CHECK_FALSE(*record);
        CHECK_FALSE(used->is_ending());
        auto listed = co_await p.store->members("k:alice");
        REQUIRE(listed);
        CHECK(*listed == std::vector{used->who().key});
    });
}
