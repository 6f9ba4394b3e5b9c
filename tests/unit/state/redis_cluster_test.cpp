// The Redis engine with a real cluster of three servers.
#include "aio/nursery.hpp"
#include "aio/within.hpp"
#include "engines.hpp"
#include "logs.hpp"
#include "redis_server.hpp"
#include "state/redis_slots.hpp"

using namespace sluice;
using namespace sluice::state;
using namespace sluice::state::test;

namespace {

struct cluster {
    std::vector<std::unique_ptr<redis_server>> servers;
    std::vector<std::uint16_t> buses;

    cluster() {
        for (int i = 0; i < 3; ++i) {
            buses.push_back(free_port());
            servers.push_back(std::make_unique<redis_server>(redis_server::words{
                "--cluster-enabled",
                "yes",
                "--cluster-node-timeout",
                "2000",
                "--cluster-require-full-coverage",
                "no",
                "--cluster-port",
                std::to_string(buses.back())
            }));
        }
        constexpr const char* bounds[] = {"0", "5460", "5461", "10922", "10923", "16383"};
        for (std::size_t i = 0; i < 3; ++i) {
            auto added =
                servers[i]->ask({"CLUSTER", "ADDSLOTSRANGE", bounds[i * 2], bounds[i * 2 + 1]});
            REQUIRE(added == "+OK\r\n");
            servers[0]->ask(
                {"CLUSTER",
                 "MEET",
                 "127.0.0.1",
                 std::to_string(servers[i]->port()),
                 std::to_string(buses[i])}
            );
        }
    }

    bool ready() const {
        for (const auto& one : servers) {
            auto told = one->ask({"CLUSTER", "INFO"});
            if (told.find("cluster_state:ok") == std::string::npos ||
                told.find("cluster_slots_ok:16384") == std::string::npos)
                return false;
        }
        return true;
    }

    redis_server& serving(std::string_view key) { return *servers[index(key)]; }
    static std::size_t index(std::string_view key) {
        auto slot = slot_of(key);
        return slot <= 5460 ? 0 : slot <= 10922 ? 1 : 2;
    }
    std::string id(std::size_t server) const {
        auto told = servers[server]->ask({"CLUSTER", "MYID"});
        return told.substr(told.find('\n') + 1, 40);
    }
};

task<> until_ready(const cluster& all) {
    auto until = aio::clock::now() + 9s;
    while (!all.ready() && aio::clock::now() < until)
        co_await aio::pause(20ms);
    REQUIRE(all.ready());
}

task<> until_up(store& s, bool up) {
    auto until = aio::test::late();
    while (s.how().up != up && aio::clock::now() < until)
        co_await aio::pause(5ms);
    REQUIRE(s.how().up == up);
}

redis_settings settings(const cluster& all) {
    redis_settings s;
    s.at = all.servers[1]->at();
    s.cluster = true;
    return s;
}

} // namespace

TEST_SUITE("store:cluster") {

    TEST_CASE("a key's slot is that of its part in braces") {
        CHECK(slot_of("123456789") == 0x31C3);
        CHECK(slot_of("sluice:{user1000}.following") == slot_of("user1000"));
        CHECK(slot_of("foo{}{bar}") != slot_of("bar"));
        CHECK(slot_of("foo{{bar}}zap") == slot_of("{bar"));
        CHECK(slot_of("foo{bar") != slot_of("bar"));
    }

    TEST_CASE("keys go to the server of their slot, words to everybody") {
        cluster all;
        redis_bench bench(settings(all));
        auto body = [](cluster& all, store& s) -> task<> {
            co_await until_ready(all);
            auto ear = std::make_shared<std::vector<std::string>>();
            s.on_word([ear](auto, auto word) { ear->emplace_back(word); }, [] {});
            s.listen("news");
            co_await until_up(s, true);
            for (int i = 0; i < 60; ++i) {
                auto key = "s:{" + std::to_string(i) + "}";
                auto made = co_await s.create(key, pair("a", "b"), 60s);
                CHECK(good(made));
                auto log = key + ":log";
                auto what = note(log, anyone, "x");
                what.channel = "news";
                what.word = log;
                auto last = co_await s.append(what);
                CHECK(good(last) == 1);
                auto there = all.serving("sluice:" + key).ask({"EXISTS", "sluice:" + key});
                CHECK(there == ":1\r\n");
                there = all.serving("sluice:" + key).ask({"EXISTS", "sluice:" + log});
                CHECK(there == ":1\r\n");
            }
            auto until = aio::test::late();
            while (ear->size() < 60 && aio::clock::now() < until)
                co_await aio::pause(2ms);
            CHECK(ear->size() == 60);
        };
        aio::test::run(bench.loop, body(all, *bench.made));
    }

    TEST_CASE("a slot that moves is followed, while it moves and afterwards") {
        cluster all;
        redis_bench bench(settings(all));
        auto body = [](cluster& all, store& s) -> task<> {
            co_await until_ready(all);
            auto from = cluster::index("sluice:{m}");
            auto to = (from + 1) % 3;
            auto slot = std::to_string(slot_of("sluice:{m}"));
            auto old = co_await s.put("{m}:old", "v", 60s);
            good(old);
            all.servers[to]->ask({"CLUSTER", "SETSLOT", slot, "IMPORTING", all.id(from)});
            all.servers[from]->ask({"CLUSTER", "SETSLOT", slot, "MIGRATING", all.id(to)});
            auto made = co_await s.create("{m}:new", pair("a", "b"), 60s);
            CHECK(good(made)); // ASK
            auto got = co_await s.get("{m}:old");
            CHECK(good(got) == "v"); // still at the old one
            auto port = std::to_string(all.servers[to]->port());
            all.servers[from]->ask({"MIGRATE", "127.0.0.1", port, "sluice:{m}:old", "0", "2000"});
            for (std::size_t i : {to, from})
                all.servers[i]->ask({"CLUSTER", "SETSLOT", slot, "NODE", all.id(to)});
            got = co_await s.get("{m}:old");
            CHECK(good(got) == "v"); // MOVED
            auto read = co_await s.read("{m}:new");
            CHECK(good(read) == pair("a", "b"));
        };
        aio::test::run(bench.loop, body(all, *bench.made));
    }

    TEST_CASE("what waits for one of its servers is bounded in bytes, and the others are served") {
        cluster all;
        auto bounds = settings(all);
        bounds.max_queue_bytes = 1024UL * 1024;
        bounds.timeout = 5s;
        redis_bench bench(bounds);
        auto body = [](cluster& all, store& s) -> task<> {
            co_await until_ready(all);
            co_await until_up(s, true);
            std::string away;
            std::string there;
            for (int i = 0; away.empty() || there.empty(); ++i) {
                auto key = "s:{" + std::to_string(i) + "}";
                (cluster::index("sluice:" + key) == 0 ? away : there) = key;
            }
            all.servers[0]->freeze();
            using fates = std::vector<std::optional<errc>>; // nothing = it was put
            auto ends = std::make_shared<fates>();
            auto ex = co_await aio::asio::this_coro::executor;
            aio::nursery crew(ex, "test");
            auto put = [](store& s, std::string key, std::shared_ptr<fates> ends) -> task<> {
                co_await aio::keep_running_when_cancelled();
                auto done = co_await s.put(std::move(key), std::string(300UL * 1024, 'x'), 60s);
                ends->push_back(done ? std::nullopt : std::optional(done.error().code));
            };
            for (int i = 0; i < 10; ++i)
                crew.spawn(put(s, away, ends));
            co_await aio::test::settle();
            CHECK((*ends == fates(7, errc::unreachable))); // three are 900 KiB
            auto small = co_await s.put(there, "v", 60s);
            good(small);
            all.servers[0]->thaw();
            co_await crew.join();
            REQUIRE(ends->size() == 10);
            for (std::size_t i = 7; i < 10; ++i)
                CHECK_FALSE((*ends)[i].has_value());
            auto more = co_await s.put(away, std::string(900UL * 1024, 'x'), 60s);
            good(more); // all of it is free again
        };
        aio::test::run(bench.loop, body(all, *bench.made));
    }

    TEST_CASE("without one of its servers the others' keys are served, and it is not up") {
        cluster all;
        redis_bench bench(settings(all));
        auto body = [](cluster& all, store& s) -> task<> {
            co_await until_ready(all);
            co_await until_up(s, true);
            all.servers[0]->stop();
            co_await until_up(s, false);
            int served = 0;
            for (int i = 0; i < 30; ++i) {
                auto key = "s:{" + std::to_string(i) + "}";
                auto put = co_await s.put(key, "v", 60s);
                if (cluster::index("sluice:" + key) == 0) {
                    CHECK(fault_of(put) == errc::unreachable);
                    continue;
                }
                // The map is learned anew meanwhile, which may cost a connection.
                auto until = aio::test::late();
                while (!put && aio::clock::now() < until) {
                    co_await aio::pause(5ms);
                    put = co_await s.put(key, "v", 60s);
                }
                good(put);
                ++served;
            }
            CHECK(served > 0);
            all.servers[0]->start(); // it has forgotten everything, its slots, too
        };
        aio::test::run(bench.loop, body(all, *bench.made));
    }
}
