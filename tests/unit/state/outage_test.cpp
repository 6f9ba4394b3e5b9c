// The Redis engine when its server goes away, hangs, comes back or comes back empty.
#include "aio/within.hpp"
#include "engines.hpp"
#include "logs.hpp"
#include "redis_server.hpp"

using namespace sluice;
using namespace sluice::state;
using namespace sluice::state::test;

namespace {

struct outage_bench {
    static redis_settings settings(const redis_server& on) {
        redis_settings s;
        s.at = on.at();
        s.timeout = 300ms;
        return s;
    }

    redis_server server;
    redis_bench bench{settings(server)};
    store& get() { return *bench.made; }
};

void run(outage_bench& on, task<> (*body)(outage_bench&)) {
    aio::test::run(on.bench.loop, body(on));
}

task<> until_up(store& s, bool up) {
    auto until = aio::test::late();
    while (s.how().up != up && aio::clock::now() < until)
        co_await aio::pause(2ms);
    REQUIRE(s.how().up == up);
}

// What came of a channel.
struct heard {
    int words = 0;
    int gaps = 0;
};

task<> until_gaps(const heard& so_far, int gaps) {
    auto until = aio::test::late();
    while (so_far.gaps < gaps && aio::clock::now() < until)
        co_await aio::pause(2ms);
}

// From when it is subscribed to, which is the first gap.
task<std::shared_ptr<heard>> hear_news(store& s) {
    auto news = std::make_shared<heard>();
    s.on_word([news](auto, auto) { ++news->words; }, [news] { ++news->gaps; });
    s.listen("news");
    co_await until_gaps(*news, 1);
    co_return news;
}

aio::duration since(aio::instant then) {
    return aio::clock::now() - then;
}

} // namespace

TEST_SUITE("store:outage") {

    TEST_CASE("without its server the store refuses within its timeout, then at once") {
        outage_bench b;
        run(b, [](outage_bench& on) -> task<> {
            auto& s = on.get();
            auto put = co_await s.put("k", "v", 60s);
            good(put);
            co_await until_up(s, true);
            on.server.stop();
            auto begun = aio::clock::now();
            auto got = co_await s.get("k");
            CHECK(fault_of(got) == errc::unreachable);
            CHECK(since(begun) < 5s);
            co_await until_up(s, false);
            while (since(s.how().since) < 300ms)
                co_await aio::pause(5ms);
            begun = aio::clock::now();
            got = co_await s.get("k");
            CHECK(fault_of(got) == errc::unreachable);
            CHECK(since(begun) < 200ms);
        });
    }

    TEST_CASE("a store whose server is back goes on by itself, and what was lost is not there") {
        outage_bench b;
        run(b, [](outage_bench& on) -> task<> {
            auto& s = on.get();
            auto put = co_await s.put("k", "v", 60s);
            good(put);
            co_await until_up(s, true);
            on.server.stop();
            co_await until_up(s, false);
            on.server.start();
            co_await until_up(s, true);
            auto got = co_await s.get("k");
            CHECK_FALSE(good(got));                                  // it came back empty
            auto made = co_await s.create("r", pair("a", "b"), 60s); // its scripts are gone, too
            CHECK(good(made));
            auto text = on.bench.meters.render();
            CHECK(text.find("sluice_store_connects_total 4") != std::string::npos);
        });
    }

    TEST_CASE("a short absence is waited for") {
        redis_server server;
        redis_settings patient;
        patient.at = server.at();
        patient.timeout = 5s;
        redis_bench bench(patient);
        auto body = [](redis_server& server, store& s) -> task<> {
            co_await until_up(s, true);
            server.stop();
            co_await until_up(s, false);
            auto ex = co_await aio::asio::this_coro::executor;
            aio::nursery writers(ex, "test");
            int written = 0;
            auto write_one = [](store& s, int& written) -> task<> {
                co_await aio::keep_running_when_cancelled();
                auto put = co_await s.put("k", "v", 60s);
                if (put) ++written;
            };
            for (int i = 0; i < 3; ++i) {
                auto job = write_one(s, written);
                writers.spawn(std::move(job));
            }
            co_await aio::test::settle();
            CHECK(written == 0);
            server.start();
            co_await writers.join();
            CHECK(written == 3);
        };
        aio::test::run(bench.loop, body(server, *bench.made));
    }

    TEST_CASE("a server that hangs holds nobody, and is used again when it has thawed") {
        outage_bench b;
        run(b, [](outage_bench& on) -> task<> {
            auto& s = on.get();
            co_await until_up(s, true);
            on.server.freeze();
            auto begun = aio::clock::now();
            auto got = co_await s.get("k");
            CHECK(fault_of(got) == errc::unreachable);
            CHECK(since(begun) < 5s);
            CHECK(since(begun) >= 290ms);
            on.server.thaw();
            co_await until_up(s, true);
            got = co_await s.get("k");
            CHECK_FALSE(good(got));
        });
    }

    TEST_CASE("a server that hangs is noticed though nobody asks it anything") {
        outage_bench b;
        run(b, [](outage_bench& on) -> task<> {
            auto& s = on.get();
            co_await until_up(s, true);
            on.server.freeze();
            co_await until_up(s, false);
            on.server.thaw();
            co_await until_up(s, true);
        });
    }

    TEST_CASE("digests that a server forgot are sent whole") {
        outage_bench b;
        run(b, [](outage_bench& on) -> task<> {
            auto& s = on.get();
            auto made = co_await s.create("r", pair("a", "b"), 60s);
            CHECK(good(made));
            on.server.ask({"SCRIPT", "FLUSH"});
            made = co_await s.create("r", pair("a", "b"), 60s);
            CHECK_FALSE(good(made));
        });
    }

    TEST_CASE("a log whose places are not to be believed keeps no script, and no server, busy") {
        outage_bench b;
        run(b, [](outage_bench& on) -> task<> {
            auto& s = on.get();
            co_await until_up(s, true);
            for (const char* last : {"4000000000000000", "9e300", "inf", "nan", "-7", "x", ""}) {
                for (const char* first : {"1", "-9e300", "3999999999999999", "nan"}) {
                    CAPTURE(last);
                    CAPTURE(first);
                    on.server.ask({"DEL", "sluice:l"});
                    auto opened = co_await s.open_log("l", "me", fields(), 60s);
                    good(opened);
                    auto three = write("l", 1, {"one", "two", "three"});
                    auto put = co_await s.append(std::move(three));
                    CHECK(good(put) == 3);
                    on.server.ask(
                        {"HSET", "sluice:l", "last", last, "first", first, "count", "9e99"}
                    );
                    auto begun = aio::clock::now();
                    auto got = co_await s.read_log("l", 0, 1000);
                    CHECK(good(got).has_value());
                    auto more = write("l", 1, {"four"});
                    more.bounds.entries = 2; // which trims
                    auto kept = co_await s.append(more);
                    good(kept);
                    CHECK(since(begun) < 2s);
                }
            }
        });
    }

    TEST_CASE("entries far apart are all read, in order, and trimmed like any others") {
        outage_bench b;
        run(b, [](outage_bench& on) -> task<> {
            auto& s = on.get();
            co_await until_up(s, true);
            auto opened = co_await s.open_log("l", "me", fields(), 60s);
            good(opened);
            auto what = write("l", 1, {"one", "two", "three", "four"});
            for (std::uint64_t i = 0; i < 4; ++i)
                what.entries[i].position = 1 + i * 1'000'000'000;
            auto put = co_await s.append(what);
            good(put);
            auto got = co_await s.read_log("l", 0, 1000);
            CHECK(shown(good(got)) == "1n:one 1000000001n:two 2000000001n:three 3000000001n:four");
            got = co_await s.read_log("l", 1'000'000'000, 6);
            auto page = good(got);
            CHECK(shown(page) == "1000000001n:two");
            CHECK(page->more);
            auto more = write("l", 1, {"five"});
            more.bounds.entries = 2;
            put = co_await s.append(more);
            CHECK(good(put) == 3'000'000'002);
            got = co_await s.read_log("l", 0, 1000);
            CHECK(shown(good(got)) == "3000000001n:four 3000000002n:five");
        });
    }

    TEST_CASE("subscriptions are made again and the gap is told") {
        outage_bench b;
        run(b, [](outage_bench& on) -> task<> {
            auto& s = on.get();
            auto news = co_await hear_news(s);
            on.server.stop();
            co_await until_up(s, false);
            on.server.start();
            co_await until_gaps(*news, 2);
            CHECK(news->gaps == 2);
            auto until = aio::test::late();
            while (news->words == 0 && aio::clock::now() < until) {
                s.publish("news", "x");
                co_await aio::pause(5ms);
            }
            CHECK(news->words > 0);
        });
    }

    TEST_CASE("a word that could not be said is a gap for those who hear all the time") {
        outage_bench b;
        run(b, [](outage_bench& on) -> task<> {
            auto& s = on.get();
            auto news = co_await hear_news(s);
            on.server.ask({"CLIENT", "PAUSE", "30000", "WRITE"}); // and whoever listens is answered
            s.publish("news", "lost");
            auto lost = co_await s.put("k", "v", 60s); // as late as the word
            CHECK_FALSE(lost);
            CHECK(news->gaps == 1);
            on.server.ask({"CLIENT", "UNPAUSE"});
            co_await until_gaps(*news, 2);
            CHECK(news->gaps == 2);
            CHECK(news->words == 0);
        });
    }

    TEST_CASE("appends of an absence are told as failed, each once") {
        outage_bench b;
        run(b, [](outage_bench& on) -> task<> {
            auto& s = on.get();
            auto opened = co_await s.open_log("l", "me", fields(), 60s);
            good(opened);
            co_await until_up(s, true);
            on.server.stop();
            co_await until_up(s, false);
            auto ends = std::make_shared<std::vector<std::optional<errc>>>();
            aio::nursery beside(co_await aio::asio::this_coro::executor, "test");
            for (int i = 0; i < 50; ++i)
                beside.spawn(append_beside(s, note("l", 1, "x"), ends));
            CHECK(ends->empty());
            co_await beside.join();
            CHECK(*ends == std::vector(50, std::optional(errc::unreachable)));
        });
    }

    TEST_CASE("a store that was never reached ends in order") {
        redis_settings nowhere;
        nowhere.at = {"127.0.0.1", free_port()};
        nowhere.timeout = 100ms;
        redis_bench bench(nowhere);
        aio::test::run(bench.loop, [](store& s) -> task<> {
            auto begun = aio::clock::now();
            auto got = co_await s.get("k");
            CHECK(fault_of(got) == errc::unreachable);
            CHECK(since(begun) < 5s);
            CHECK_FALSE(s.how().up);
        }(*bench.made));
    }
}
