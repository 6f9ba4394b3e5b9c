#include "engines.hpp"
#include "logs.hpp"

using namespace sluice;
using namespace sluice::state;
using namespace sluice::state::test;

TEST_CASE("a log is read as it was written, from any position") {
    on_every_engine([](engine& on) -> task<> {
        auto& s = on.get();
        auto none = co_await s.read_log("l", 0, 1000);
        CHECK_FALSE(good(none));
        auto opened = co_await s.open_log("l", "me", pair("method", "tools/call"), 60s);
        CHECK(good(opened) == 1);
        opened = co_await s.open_log("l", "you", fields(), 60s);
        CHECK(fault_of(opened) == errc::conflict);
        std::string odd("\0\r\n", 3);
        auto two = write("l", 1, {"one", odd});
        auto last = co_await s.append(two);
        CHECK(good(last) == 2);
        auto more = write("l", 1, {"three"});
        more.set = pair("state", "done");
        more.entries[0].position = 7;
        more.entries[0].kind = 'f';
        last = co_await s.append(more);
        CHECK(good(last) == 7);

        auto got = co_await s.read_log("l", 0, 1000);
        auto page = good(got);
        REQUIRE(page);
        CHECK(page->epoch == 1);
        CHECK(page->owner == "me");
        CHECK(page->last == 7);
        CHECK(page->record == fields{{"method", "tools/call"}, {"state", "done"}});
        CHECK(shown(*page) == "1n:one 2n:" + odd + " 7f:three");
        CHECK_FALSE(page->more);
        got = co_await s.read_log("l", 2, 1000);
        CHECK(shown(good(got)) == "7f:three");
        got = co_await s.read_log("l", 99, 1000);
        CHECK(shown(good(got)).empty());
        auto record = co_await s.read("l");
        CHECK(good(record) == fields{{"method", "tools/call"}, {"state", "done"}});
    });
}

TEST_CASE("a page of a log is bounded and says whether more follows") {
    on_every_engine([](engine& on) -> task<> {
        auto& s = on.get();
        auto opened = co_await s.open_log("l", "me", fields(), 60s);
        good(opened);
        auto what = write("l", 1, {});
        for (int i = 1; i <= 300; ++i)
            what.entries.push_back({0, 'n', "x" + std::to_string(i)});
        auto last = co_await s.append(what);
        CHECK(good(last) == 300);
        std::uint64_t after = 0;
        int pages = 0;
        std::size_t entries = 0;
        bool more = true;
        while (more && pages < 100) {
            auto got = co_await s.read_log("l", after, 100);
            auto page = good(got);
            REQUIRE(page);
            REQUIRE_FALSE(page->entries.empty());
            for (const auto& entry : page->entries) {
                CHECK(entry.position == ++after);
                CHECK(entry.bytes == "x" + std::to_string(after));
            }
            entries += page->entries.size();
            more = page->more;
            ++pages;
        }
        CHECK(entries == 300);
        CHECK(pages > 5);
        auto got = co_await s.read_log("l", 0, 0); // one at least
        CHECK(shown(good(got)) == "1n:x1");
    });
}

TEST_CASE("what stands in a log already is passed over") {
    on_every_engine([](engine& on) -> task<> {
        auto& s = on.get();
        auto opened = co_await s.open_log("l", "me", fields(), 60s);
        good(opened);
        auto what = write("l", 1, {"a"});
        what.entries[0].position = 4;
        auto last = co_await s.append(what);
        CHECK(good(last) == 4);
        last = co_await s.append(what);
        CHECK(good(last) == 4);
        what.entries = {{3, 'n', "late"}, {5, 'n', "b"}};
        last = co_await s.append(what);
        CHECK(good(last) == 5);
        auto got = co_await s.read_log("l", 0, 1000);
        CHECK(shown(good(got)) == "4n:a 5n:b");
    });
}

TEST_CASE("old entries leave a full log, kept kinds and the newest never") {
    on_every_engine([](engine& on) -> task<> {
        auto& s = on.get();
        auto opened = co_await s.open_log("l", "me", fields(), 60s);
        good(opened);
        for (int i = 1; i <= 8; ++i) {
            auto what = write("l", 1, {"x" + std::to_string(i)});
            what.entries[0].kind = i == 2 || i == 5 ? 'q' : 'n';
            what.bounds = {3, 1000, "fq"};
            auto last = co_await s.append(what);
            CHECK(good(last) == static_cast<std::uint64_t>(i));
        }
        auto got = co_await s.read_log("l", 0, 1000);
        CHECK(shown(good(got)) == "2q:x2 5q:x5 6n:x6 7n:x7 8n:x8");
        got = co_await s.read_log("l", 2, 1000);
        CHECK(shown(good(got)) == "5q:x5 6n:x6 7n:x7 8n:x8");
        auto large = write("l", 1, {std::string(50, 'y')});
        large.bounds = {3, 20, "fq"};
        auto last = co_await s.append(large);
        CHECK(good(last) == 9);
        got = co_await s.read_log("l", 0, 1000);
        CHECK(shown(good(got)) == "2q:x2 5q:x5 9n:" + std::string(50, 'y'));
    });
}

TEST_CASE("an owner that was followed by another writes no more") {
    on_every_engine([](engine& on) -> task<> {
        auto& s = on.get();
        auto opened = co_await s.open_log("l", "me", fields(), 60s);
        good(opened);
        auto last = co_await s.append(note("l", 1, "mine"));
        good(last);
        auto adopted = co_await s.adopt_log("l", 1, "you");
        CHECK(good(adopted) == 2);
        adopted = co_await s.adopt_log("l", 1, "she");
        CHECK(fault_of(adopted) == errc::fenced);
        auto late = write("l", 1, {"late"});
        late.set = pair("state", "done");
        last = co_await s.append(late);
        CHECK(fault_of(last) == errc::fenced);
        last = co_await s.append(note("l", anyone, "stranger"));
        CHECK(fault_of(last) == errc::fenced);
        last = co_await s.append(note("l", 2, "yours"));
        CHECK(good(last) == 2);
        auto got = co_await s.read_log("l", 0, 1000);
        auto page = good(got);
        CHECK(shown(page) == "1n:mine 2n:yours");
        CHECK(page->owner == "you");
        CHECK(page->epoch == 2);
        CHECK(page->record.empty());
    });
}

TEST_CASE("a log that is gone takes no entries of an owner, and is made for anyone") {
    on_every_engine([](engine& on) -> task<> {
        auto& s = on.get();
        auto last = co_await s.append(note("l", 1, "x"));
        CHECK(fault_of(last) == errc::not_found);
        auto adopted = co_await s.adopt_log("l", 1, "you");
        CHECK(fault_of(adopted) == errc::not_found);
        auto what = write("l", anyone, {"a"});
        what.ttl = 60s;
        last = co_await s.append(what);
        CHECK(good(last) == 1);
        what.entries[0].bytes = "b";
        what.ttl = 50ms;
        last = co_await s.append(what);
        CHECK(good(last) == 2);
        auto got = co_await s.read_log("l", 0, 1000);
        CHECK(shown(good(got)) == "1n:a 2n:b");
        co_await until_gone(on, "l");
        what.ttl = 0ms;
        last = co_await s.append(what);
        CHECK(good(last) == 1);
        auto left = co_await s.time_left("l");
        auto time = good(left);
        REQUIRE(time);
        CHECK(*time <= unsaid_ttl);
    });
}

TEST_CASE("appends begun beside each other stand in their order, and each hears of its own fault") {
    on_every_engine([](engine& on) -> task<> {
        auto& s = on.get();
        auto opened = co_await s.open_log("l", "me", fields(), 60s);
        good(opened);
        auto ends = std::make_shared<std::vector<std::optional<errc>>>();
        aio::nursery beside(co_await aio::asio::this_coro::executor, "test");
        beside.spawn(append_beside(s, note("l", 1, "a"), ends));
        beside.spawn(append_beside(s, note("l", 1, "b"), ends));
        beside.spawn(append_beside(s, note("l", 1, "c"), ends));
        beside.spawn(append_beside(s, note("l", 9, "foreign"), ends));
        beside.spawn(append_beside(s, note("l", 1, "d"), ends));
        co_await beside.join();
        auto got = co_await s.read_log("l", 0, 1000);
        CHECK(shown(good(got)) == "1n:a 2n:b 3n:c 4n:d");
        std::optional<errc> fine;
        CHECK(*ends == std::vector{fine, fine, fine, std::optional(errc::fenced), fine});
    });
}
