#include "reading.hpp"
#include "session/asks.hpp"

using namespace sluice;
using namespace sluice::session;
using namespace sluice::session::test;

namespace {

wire::message response(std::string_view id_text) {
    auto parsed = wire::parse_message(wire::make_result(id_text, "{\"action\":\"accept\"}"));
    REQUIRE(parsed);
    return std::move(*parsed);
}

} // namespace

TEST_CASE("a question is asked under an id of the same JSON type as the upstream's, and its own") {
    loop on;
    asks all(on.get_executor());
    auto one = all.open(wire::token::of(5));
    auto two = all.open(wire::token::of(5));
    auto three = all.open(wire::token::of("a"));
    CHECK_FALSE(one->id().is_string());
    CHECK_FALSE(one->id() == two->id());
    CHECK(three->id().is_string());
    CHECK(all.size() == 3);
}

TEST_CASE("an answer reaches the question it names, once") {
    loop on;
    asks all(on.get_executor());
    auto one = all.open(wire::token::of(5));
    auto two = all.open(wire::token::of(6));
    CHECK(all.answer(response(two->id().text())));
    CHECK_FALSE(all.answer(response(two->id().text())));
    CHECK(all.size() == 1);
    CHECK(all.counters().stray == 1);
    run(on, [](ask& first, ask& second) -> task<> {
        auto got = co_await second.wait(aio::test::late());
        CHECK(got.has_value());
        auto nothing = co_await first.wait(aio::test::soon());
        CHECK_FALSE(nothing.has_value());
        CHECK_FALSE(first.is_dropped());
    }(*one, *two));
}

TEST_CASE("an answer to a closed or unknown question is counted and dropped") {
    loop on;
    asks all(on.get_executor());
    auto one = all.open(wire::token::of(5));
    all.close(*one);
    CHECK_FALSE(all.answer(response(one->id().text())));
    CHECK_FALSE(all.answer(response("\"ask-99\"")));
    CHECK_FALSE(all.answer(response("99")));
    CHECK(all.counters().stray == 3);
}

TEST_CASE("when the host is gone every wait ends without an answer") {
    loop on;
    asks all(on.get_executor());
    auto one = all.open(wire::token::of(5));
    run(on, [](asks& in, std::shared_ptr<ask> q) -> task<> {
        auto ex = co_await aio::asio::this_coro::executor;
        aio::nursery crew(ex, "test");
        auto waiter = [](std::shared_ptr<ask> of) -> task<> {
            co_await aio::keep_running_when_cancelled();
            auto got = co_await of->wait(aio::test::late());
            CHECK_FALSE(got.has_value());
        };
        auto job = waiter(q);
        crew.spawn(std::move(job));
        co_await settle();
        in.drop_all();
        co_await crew.join();
        CHECK(q->is_dropped());
        CHECK(in.size() == 0);
    }(all, one));
}
