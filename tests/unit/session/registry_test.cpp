#include "reading.hpp"
#include "session/registry.hpp"
#include "state/store.hpp"
#include "sys/clock.hpp"

#include <set>

using namespace sluice;
using namespace sluice::session;
using namespace sluice::session::test;

namespace {

identity of_key(std::string principal) {
    identity who;
    who.principal = std::move(principal);
    who.scope = "/mcp";
    return who;
}

// Runs a body with a registry and joins it afterwards, whatever the body left.
void with_registry(settings bounds, std::function<task<>(registry&)> body) {
    loop on;
    registry all(on.get_executor(), bounds);
    auto whole = [](registry& in, std::function<task<>(registry&)> inner) -> task<> {
        co_await inner(in);
        co_await in.shut_down();
        CHECK(in.size() == 0);
    };
    run(on, whole(all, std::move(body)));
}

task<bool> gone_within_patience(registry& in, std::string id, std::string principal) {
    auto until = aio::test::late();
    while (aio::clock::now() < until) {
        // find() is a use and would keep it alive: look at the size instead.
        if (in.size() == 0) co_return in.find(id, principal) == nullptr;
        auto ex = co_await aio::asio::this_coro::executor;
        aio::timer t(ex);
        t.expires_after(std::chrono::milliseconds(1));
        co_await t.async_wait(aio::nothrow);
    }
    co_return false;
}

} // namespace

TEST_CASE("a session is found by its id and by its own principal alone") {
    with_registry({}, [](registry& in) -> task<> {
        auto opened = in.open(of_key("alice"));
        REQUIRE(opened);
        auto id = (*opened)->who().id;
        CHECK(in.find(id, "alice") == *opened);
        CHECK(in.find(id, "bob") == nullptr);
        CHECK(in.find(id, "") == nullptr);
        CHECK(in.find(id + "x", "alice") == nullptr);
        CHECK(in.find("", "alice") == nullptr);
        co_return;
    });
}

TEST_CASE("session ids are long, of visible ASCII, and never the same") {
    with_registry({}, [](registry& in) -> task<> {
        std::set<std::string> ids;
        for (int i = 0; i < 100; ++i) {
            auto opened = in.open(of_key("alice"));
            REQUIRE(opened);
            auto id = (*opened)->who().id;
            CHECK(id.size() >= 22);
            for (char c : id)
                CHECK((c > 0x20 && c < 0x7f));
            ids.insert(id);
        }
        CHECK(ids.size() == 100);
        co_return;
    });
}

TEST_CASE("an ended session is not found any more, and leaves the registry when it has joined") {
    with_registry({}, [](registry& in) -> task<> {
        auto opened = in.open(of_key("alice"));
        REQUIRE(opened);
        auto id = (*opened)->who().id;
        in.end_soon(*opened);
        CHECK(in.find(id, "alice") == nullptr);
        co_await settle();
        CHECK(in.size() == 0);
    });
}

TEST_CASE("a key has its own bound of sessions, and an ended one makes room") {
    settings bounds;
    bounds.sessions_per_key = 2;
    with_registry(bounds, [](registry& in) -> task<> {
        auto one = in.open(of_key("alice"));
        auto two = in.open(of_key("alice"));
        auto three = in.open(of_key("alice"));
        REQUIRE(two);
        REQUIRE_FALSE(three);
        CHECK(three.error().code == base::errc::too_many);
        CHECK(in.open(of_key("bob")).ok());
        in.end_soon(*one);
        co_await settle();
        CHECK(in.open(of_key("alice")).ok());
    });
}

TEST_CASE("the process has a bound of sessions whatever their keys") {
    settings bounds;
    bounds.max_sessions = 2;
    with_registry(bounds, [](registry& in) -> task<> {
        CHECK(in.open(of_key("a")).ok());
        CHECK(in.open(of_key("b")).ok());
        auto refused = in.open(of_key("c"));
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code == base::errc::too_many);
        co_return;
    });
}

TEST_CASE("a session that nobody uses ends after its idle time") {
    settings bounds;
    bounds.idle_ttl = std::chrono::milliseconds(5);
    with_registry(bounds, [](registry& in) -> task<> {
        auto opened = in.open(of_key("alice"));
        REQUIRE(opened);
        auto id = (*opened)->who().id;
        auto began = aio::clock::now();
        bool gone = co_await gone_within_patience(in, id, "alice");
        CHECK(gone);
        CHECK(aio::clock::now() - began >= std::chrono::milliseconds(5));
    });
}

TEST_CASE("a session with a stream that is read, or a call under way, outlives its idle time") {
    settings bounds;
    bounds.idle_ttl = std::chrono::milliseconds(3);
    with_registry(bounds, [](registry& in) -> task<> {
        auto opened = in.open(of_key("alice"));
        REQUIRE(opened);
        auto s = *opened;
        s->standing().attach(0);
        auto ex = co_await aio::asio::this_coro::executor;
        aio::timer t(ex);
        t.expires_after(std::chrono::milliseconds(20));
        co_await t.async_wait(aio::nothrow);
        CHECK(in.size() == 1);
        auto c = s->begin_call(wire::token::of(1), s->open_stream(1), 0);
        REQUIRE(c);
        s->standing().detach();
        t.expires_after(std::chrono::milliseconds(20));
        co_await t.async_wait(aio::nothrow);
        CHECK(in.size() == 1);
        s->end_call(**c);
        auto id = s->who().id;
        bool gone = co_await gone_within_patience(in, id, "alice");
        CHECK(gone);
    });
}

TEST_CASE("no id leads to a throw-away session, and it counts like any other until it ends") {
    settings bounds;
    bounds.max_sessions = 1;
    with_registry(bounds, [](registry& in) -> task<> {
        auto thrown = in.open_throw_away(of_key("alice"));
        REQUIRE(thrown);
        CHECK((*thrown)->who().id.empty());
        CHECK(in.find("", "alice") == nullptr);
        CHECK_FALSE(in.open(of_key("alice")).ok());
        CHECK_FALSE(in.open_throw_away(of_key("alice")).ok());
        (*thrown)->end();
        co_await settle();
        CHECK(in.size() == 0);
        CHECK(in.open(of_key("alice")).ok());
    });
}

TEST_CASE("a session that was used a moment ago is never ended to make room for another") {
    settings bounds;
    bounds.sessions_per_key = 1;
    with_registry(bounds, [](registry& in) -> task<> {
        auto first = in.open(of_key("alice"));
        REQUIRE(first);
        auto refused = in.open(of_key("alice"));
        REQUIRE_FALSE(refused);
        CHECK(refused.error().http_status == 429);
        CHECK_FALSE((*first)->is_ending());
        co_return;
    });
}

TEST_CASE("shutting down ends every session, cancels its calls and joins them all") {
    loop on;
    registry all(on.get_executor(), {});
    auto ended = std::make_shared<int>(0);
    run(on, [](registry& in, std::shared_ptr<int> count) -> task<> {
        auto work = [](std::shared_ptr<call> of, std::shared_ptr<int> into) -> task<> {
            co_await aio::keep_running_when_cancelled();
            auto ex = co_await aio::asio::this_coro::executor;
            aio::signal_flag flag(ex);
            call::watch on_cancel(*of, [&] { flag.wake(); });
            co_await flag.wait(aio::test::late());
            co_await settle();
            ++*into;
        };
        std::vector<std::shared_ptr<sluice::session::session>> sessions;
        for (int i = 0; i < 3; ++i) {
            auto opened = in.open(of_key("alice"));
            REQUIRE(opened);
            sessions.push_back(*opened);
        }
        sessions.push_back(*in.open_throw_away(of_key("alice")));
        for (auto& s : sessions) {
            auto c = s->begin_call(wire::token::of(1), s->open_stream(1), 0);
            REQUIRE(c);
            auto job = work(*c, count);
            s->spawn(std::move(job));
        }
        CHECK(in.calls_under_way() == 4);
        co_await in.shut_down();
        CHECK(*count == 4);
        CHECK(in.size() == 0);
        co_await in.shut_down(); // once more does no harm
    }(all, ended));
}

TEST_CASE("the registry counts the streams that are read") {
    with_registry({}, [](registry& in) -> task<> {
        auto one = in.open(of_key("alice"));
        auto two = in.open(of_key("bob"));
        REQUIRE(two);
        (*one)->standing().attach(0);
        (*two)->open_stream(1)->attach(0);
        (*two)->open_stream(1);
        CHECK(in.streams_attached() == 2);
        co_return;
    });
}

namespace {

// Two replicas that share a store, on one loop.
struct two {
    explicit two(settings from) : bounds(from) { store->start(); }

    task<std::shared_ptr<sluice::session::session>> open(registry& in) {
        auto opened = in.open(of_key("alice"));
        REQUIRE(opened);
        auto kept = co_await in.kept()->create((*opened)->who());
        REQUIRE(kept);
        co_return *opened;
    }
    // As if no replica had used it for that long.
    task<> age(std::string key, std::chrono::milliseconds by) {
        auto life = bounds.idle_ttl + record_margin - by;
        auto listed = co_await store->enlist("k:alice", key, life, 0);
        REQUIRE(listed);
        auto kept = co_await store->keep(records::record_key(key), life);
        REQUIRE(kept);
    }
    void run(std::function<task<>(two&)> body) {
        auto whole = [](two& p, std::function<task<>(two&)> inner) -> task<> {
            co_await inner(p);
            co_await p.a.shut_down();
            co_await p.b.shut_down();
            co_await p.store->shut_down();
        };
        test::run(on, whole(*this, std::move(body)));
    }

    loop on;
    settings bounds;
    std::unique_ptr<state::store> store = state::make_memory_store(on, {}, true);
    sys::sealer seals{{base::secret("a salt of at least thirty-two bytes, really")}};
    records of_a{*store, seals, bounds, [] { return std::string("a"); }};
    records of_b{*store, seals, bounds, [] { return std::string("b"); }};
    registry a{on.get_executor(), bounds, &of_a};
    registry b{on.get_executor(), bounds, &of_b};
};

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
        p.a.start_keeping();
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
