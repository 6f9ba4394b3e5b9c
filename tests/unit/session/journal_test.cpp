#include "../aio/run.hpp"
#include "aio/nursery.hpp"
#include "session/stream.hpp"

#include <memory>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::session;
using namespace std::chrono_literals;

namespace {

event note(std::uint64_t position, std::string bytes) {
    event e;
    e.position = position;
    e.bytes = std::move(bytes);
    return e;
}

ending said_in(const state::log_page& page) {
    for (const auto& [name, value] : page.record)
        if (name == ended_field) return ending_in(value);
    return ending::none;
}

journal_place a_place() {
    journal_place at;
    at.key = "log";
    at.owner = "me";
    at.ttl = 60s;
    return at;
}

// Keeps a whole stream, which has ended, and looks as a reader at another replica does.
aio::task<>
keep_and_read(aio::loop& on, state::store& in, std::vector<event> all, state::log_page& found) {
    aio::nursery writers(on.get_executor(), "test");
    auto launch = [&writers](aio::task<> job) { writers.spawn(std::move(job)); };
    journal log(launch, on.get_executor(), in, a_place());
    state::fields facts;
    auto made = co_await log.open(all, facts, ending::finished);
    CHECK(made);
    auto page = co_await in.read_log("log", 0, 1 << 20);
    REQUIRE(page);
    REQUIRE(*page);
    found = std::move(**page);
    co_await writers.join();
}

state::log_page kept_in(std::size_t store_bytes, std::vector<event> events) {
    aio::loop loop;
    auto store = state::make_memory_store(loop, {100, store_bytes});
    state::log_page found;
    aio::test::run(loop, keep_and_read(loop, *store, std::move(events), found));
    return found;
}

} // namespace

TEST_CASE("a log says that it has ended together with what it ended with") {
    auto page = kept_in(1 << 20, {note(1, "a"), note(2, "b")});
    CHECK(page.entries.size() == 2);
    CHECK(said_in(page) == ending::finished);
}

TEST_CASE("a log without what its stream carried does not say that it has ended") {
    auto page = kept_in(2'000, {note(1, std::string(4'000, 'x'))});
    CHECK(page.entries.empty());
    CHECK(said_in(page) == ending::none);
}

TEST_CASE("of two endings a stream's log says the first") {
    aio::loop loop;
    auto store = state::make_memory_store(loop, {100, 1 << 20});
    aio::test::run(loop, [](aio::loop& on, state::store& in) -> aio::task<> {
        settings bounds;
        stream_counters counters;
        aio::nursery writers(on.get_executor(), "test");
        auto launch = [&writers](aio::task<> job) { writers.spawn(std::move(job)); };
        stream s(on.get_executor(), "log", 0, bounds, counters);
        auto log = std::make_unique<journal>(launch, on.get_executor(), in, a_place());
        state::fields facts;
        auto kept = co_await s.keep(std::move(log), std::move(facts));
        CHECK(kept);
        s.end(ending::session_ended);
        s.end(ending::cancelled);
        co_await writers.join();
        auto page = co_await in.read_log("log", 0, 1 << 20);
        REQUIRE(page);
        CHECK(said_in(**page) == ending::session_ended);
    }(loop, *store));
}
