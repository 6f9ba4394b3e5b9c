#include "../aio/run.hpp"
#include "gateway/pager.hpp"
#include "sys/clock.hpp"

using namespace sluice;
using namespace sluice::gateway;
using aio::task;
using aio::test::run;

namespace {

struct book {
    sys::sealer seals{{base::secret("a salt of at least thirty-two bytes, really")}};
    aio::loop on;
    std::unique_ptr<state::store> store = state::make_memory_store(on);
    pager pages{seals, *store, {}};
};

listing here() {
    return {mcp::method::tools_list, "alice", "/mcp", "all tools", "config 1"};
}

position some_position(std::int64_t deadline) {
    position at;
    at.places.push_back({"a", R"("cur\u0073or")", R"("r1")", {1, 18446744073709551615ULL}});
    at.places.push_back({"b \"quoted\"", "\"\"", std::nullopt, {}});
    at.pages = 3;
    at.deadline_ms = deadline;
    return at;
}

// Issues a cursor and hands back its text, without the quotes of the JSON string.
task<std::string> issue(pager& from, std::int64_t deadline) {
    auto made = co_await from.issue(here(), some_position(deadline));
    REQUIRE(made);
    REQUIRE(made->front() == '"');
    co_return made->substr(1, made->size() - 2);
}

task<std::string> refusal(pager& of, listing where, std::string cursor) {
    auto got = co_await of.open(std::move(where), std::move(cursor));
    REQUIRE_FALSE(got);
    CHECK(got.error().code == base::errc::invalid_params);
    co_return got.error().message;
}

} // namespace

TEST_CASE("a cursor leads back to its whole position, as often as it is asked") {
    book b;
    run(b.on, [](pager& pages) -> task<> {
        auto deadline = pages.new_deadline();
        auto cursor = co_await issue(pages, deadline);
        for (int i = 0; i < 2; ++i) {
            auto got = co_await pages.open(here(), cursor);
            REQUIRE(got);
            CHECK(got->pages == 3);
            CHECK(got->deadline_ms == deadline);
            REQUIRE(got->places.size() == 2);
            CHECK(got->places[0].cursor == R"("cur\u0073or")");
            CHECK(got->places[0].revision == R"("r1")");
            CHECK(got->places[0].seen == std::vector<std::uint64_t>{1, 18446744073709551615ULL});
            CHECK(got->places[1].server == "b \"quoted\"");
            CHECK_FALSE(got->places[1].revision);
        }
    }(b.pages));
}

TEST_CASE("a cursor shows nothing of the servers and their cursors") {
    book b;
    run(b.on, [](pager& pages) -> task<> {
        auto cursor = co_await issue(pages, pages.new_deadline());
        CHECK(cursor.find("quoted") == std::string::npos);
        CHECK(cursor.find("alice") == std::string::npos);
    }(b.pages));
}

// Statements 8 to 10.
TEST_CASE("a cursor of another caller, endpoint or list is as invalid as garbage") {
    book b;
    run(b.on, [](pager& pages) -> task<> {
        auto cursor = co_await issue(pages, pages.new_deadline());
        auto other = here();
        other.principal = "bob";
        auto why = co_await refusal(pages, other, cursor);
        CHECK(why == "invalid");
        other = here();
        other.endpoint = "/mcp/a";
        why = co_await refusal(pages, other, cursor);
        CHECK(why == "invalid");
        other = here();
        other.method = mcp::method::prompts_list;
        why = co_await refusal(pages, other, cursor);
        CHECK(why == "invalid");
        why = co_await refusal(pages, here(), "garbage");
        CHECK(why == "invalid");
        why = co_await refusal(pages, here(), "");
        CHECK(why == "invalid");
    }(b.pages));
}

// Statements 23 and 24.
TEST_CASE("a cursor whose permissions or configuration have changed says so") {
    book b;
    run(b.on, [](pager& pages) -> task<> {
        auto cursor = co_await issue(pages, pages.new_deadline());
        auto other = here();
        other.scope = "fewer tools";
        auto why = co_await refusal(pages, other, cursor);
        CHECK(why == "changed");
        other = here();
        other.registry = "config 2";
        why = co_await refusal(pages, other, cursor);
        CHECK(why == "changed");
    }(b.pages));
}

// Statements 19 and 20, to the second.
TEST_CASE("ten minutes count from the first page, whatever is read meanwhile") {
    book b;
    sys::hand_wound_clock clock(1'700'000'000'000);
    run(b.on, [](pager& pages, sys::hand_wound_clock& clock) -> task<> {
        constexpr std::int64_t second = 1'000;
        auto second_page = co_await issue(pages, pages.new_deadline());
        clock.advance(540 * second);
        auto at = co_await pages.open(here(), second_page);
        REQUIRE(at);
        auto third_page = co_await issue(pages, at->deadline_ms); // as lists hand it on
        clock.advance(59 * second);
        for (const auto& cursor : {second_page, third_page}) {
            auto served = co_await pages.open(here(), cursor);
            CHECK(served.ok()); // 9 min 59 s
        }
        clock.advance(2 * second);
        for (const auto& cursor : {second_page, third_page}) {
            auto why = co_await refusal(pages, here(), cursor);
            CHECK(why == "expired"); // 10 min 01 s
        }
    }(b.pages, clock));
}

TEST_CASE("a cursor ends at the deadline of its first page") {
    book b;
    sys::hand_wound_clock clock(1'700'000'000'000);
    run(b.on, [](pager& pages, sys::hand_wound_clock& clock) -> task<> {
        auto cursor = co_await issue(pages, pages.new_deadline());
        clock.advance(pages.settings().lifetime.count());
        auto last_moment = co_await pages.open(here(), cursor);
        CHECK(last_moment.ok());
        clock.advance(1);
        auto why = co_await refusal(pages, here(), cursor);
        CHECK(why == "expired");
    }(b.pages, clock));
}

TEST_CASE("a cursor whose record the store has lost is forgotten, not invalid") {
    book b;
    run(b.on, [](book& in) -> task<> {
        auto cursor = co_await issue(in.pages, in.pages.new_deadline());
        auto empty = state::make_memory_store(in.on);
        pager elsewhere(in.seals, *empty, {});
        auto why = co_await refusal(elsewhere, here(), cursor);
        CHECK(why == "forgotten");
    }(b));
}
