#include "registries.hpp"

#include <set>

using namespace sluice;
using namespace sluice::session;
using namespace sluice::session::test;

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
