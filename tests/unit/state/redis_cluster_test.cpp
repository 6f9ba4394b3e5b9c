// The Redis engine with a real cluster of three servers.
#include "aio/nursery.hpp"
#include "aio/within.hpp"
#include "engines.hpp"
#include "logs.hpp"
#include "redis_server.hpp"
#include "state/redis_slots.hpp"

#include <algorithm>

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
        for (std::size_t i = 0; i < 3; ++i) {
            auto added = servers[i]->ask({"CLUSTER", "ADDSLOTSRANGE", first(i), last(i)});
            REQUIRE(added == "+OK\r\n");
            servers[0]->ask(
                {"CLUSTER",
                 "MEET",
                 "127.0.0.1",
                 std::to_string(servers[i]->port()),
                 std::to_string(buses[i])}
            );
        }
        // Before any body begins, whose own time is short: a busy machine takes long for this.
        bool formed = comes_true([this] { return ready(); }, 30s);
        REQUIRE(formed);
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

    // As they are at first.
    static std::string first(std::size_t server) {
        constexpr const char* slots[] = {"0", "5461", "10923"};
        return slots[server];
    }
    static std::string last(std::size_t server) {
        constexpr const char* slots[] = {"5460", "10922", "16383"};
        return slots[server];
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

    // A key that it serves.
    static std::string key_of(std::size_t server) {
        for (int i = 0;; ++i) {
            auto key = "s:{" + std::to_string(i) + "}";
            if (index("sluice:" + key) == server) return key;
        }
    }
    // Its word counts more than what others may still say of how it was.
    void prevail(std::size_t server) const { servers[server]->ask({"CLUSTER", "BUMPEPOCH"}); }
    // The slot of a key is another server's.
    void give(const std::string& key, std::size_t to) const {
        auto slot = std::to_string(slot_of("sluice:" + key));
        prevail(to);
        for (auto i : {to, index("sluice:" + key)})
            servers[i]->ask({"CLUSTER", "SETSLOT", slot, "NODE", id(to)});
    }
    // Nobody takes it for the server of a slot.
    bool serves_none(std::size_t server) const {
        auto port = ":" + std::to_string(servers[server]->port()) + "\r\n";
        return std::ranges::none_of(servers, [&](const auto& one) {
            return one->ask({"CLUSTER", "SLOTS"}).find(port) != std::string::npos;
        });
    }
};

// All of a server's slots are another's, and everybody knows it.
task<> give_all(const cluster& all, std::size_t from, std::size_t to) {
    auto slots = [&](std::size_t at, const char* word) {
        return all.servers[at]->ask({"CLUSTER", word, cluster::first(from), cluster::last(from)});
    };
    auto until = aio::test::late();
    slots(from, "DELSLOTSRANGE");
    all.prevail(to);
    for (std::string taken; taken != "+OK\r\n" && aio::clock::now() < until;) {
        // Again, should it have been told meanwhile how it was before.
        slots(to, "DELSLOTSRANGE");
        taken = slots(to, "ADDSLOTSRANGE");
    }
    while (!(all.ready() && all.serves_none(from)) && aio::clock::now() < until)
        co_await aio::pause(20ms);
    REQUIRE(all.serves_none(from));
}

task<> until_up(store& s, bool up) {
    auto until = aio::test::late();
    while (s.how().up != up && aio::clock::now() < until)
        co_await aio::pause(5ms);
    REQUIRE(s.how().up == up);
}

// What comes of "news", from when a word from each server does: it is subscribed to, and they are
// all linked with each other, which takes longer than agreeing on their slots.
task<std::shared_ptr<std::vector<std::string>>> hear_news(const cluster& all, store& s) {
    auto ear = std::make_shared<std::vector<std::string>>();
    s.on_word([ear](auto, auto word) { ear->emplace_back(word); }, [] {});
    s.listen("news");
    co_await until_up(s, true);
    auto until = aio::test::late();
    for (std::size_t i = 0; i < all.servers.size(); ++i) {
        auto probe = "probe " + std::to_string(i);
        while (std::ranges::count(*ear, probe) == 0 && aio::clock::now() < until) {
            all.servers[i]->ask({"PUBLISH", "sluice:news", probe});
            co_await aio::pause(20ms);
        }
        REQUIRE(std::ranges::count(*ear, probe) > 0);
    }
    co_return ear;
}

// A client's command waits there.
task<> until_paused(const redis_server& at) {
    auto waits = [&] {
        return at.info("clients").find("blocked_clients:1\r") != std::string::npos;
    };
    auto until = aio::test::late();
    while (!waits() && aio::clock::now() < until)
        co_await aio::pause(5ms);
    REQUIRE(waits());
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
            auto ear = co_await hear_news(all, s);
            auto words = [&] {
                return std::ranges::count_if(*ear, [](const auto& w) { return w[0] == 's'; });
            };
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
            auto until = aio::clock::now() + 5s; // sooner than the body's own end
            while (words() < 60 && aio::clock::now() < until)
                co_await aio::pause(2ms);
            CHECK(words() == 60);
        };
        aio::test::run(bench.loop, body(all, *bench.made));
    }

    TEST_CASE("a slot that moves is followed, while it moves and afterwards") {
        cluster all;
        redis_bench bench(settings(all));
        auto body = [](cluster& all, store& s) -> task<> {
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
            all.give("{m}", to);
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
            co_await until_up(s, true);
            auto away = cluster::key_of(0);
            auto there = cluster::key_of(1);
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

    TEST_CASE("a server that serves no slot any more answers what was sent to it before") {
        cluster all;
        auto patient = settings(all);
        patient.timeout = 9s; // the servers take their time to tell each other
        redis_bench bench(patient);
        auto body = [](cluster& all, store& s) -> task<> {
            co_await until_up(s, true);
            auto& leaving = all.serving("sluice:{m}");
            auto from = cluster::index("sluice:{m}");
            auto to = (from + 1) % 3;
            auto ex = co_await aio::asio::this_coro::executor;
            aio::nursery crew(ex, "test");
            leaving.ask({"CLIENT", "PAUSE", "20000", "WRITE"});
            auto put = [](store& s) -> task<> {
                auto done = co_await s.put("{m}:k", "v", 60s);
                good(done);
            };
            crew.spawn(put(s));
            co_await until_paused(leaving);
            co_await give_all(all, from, to);
            // Hears of it from the third server.
            auto moved = all.key_of(3 - from - to);
            all.give(moved, to);
            auto got = co_await s.get(moved);
            CHECK_FALSE(good(got));
            auto known = std::make_shared<bool>(false);
            auto ask = [](store& s, std::shared_ptr<bool> known) -> task<> {
                auto got = co_await s.get("{m}:other");
                *known = true;
                CHECK_FALSE(good(got));
            };
            auto until = aio::test::late();
            while (!*known && aio::clock::now() < until) {
                crew.spawn(ask(s, known)); // those behind the put wait as it does
                co_await aio::pause(20ms);
            }
            CHECK(*known);
            leaving.ask({"CLIENT", "UNPAUSE"});
            co_await crew.join();
            got = co_await s.get("{m}:k");
            CHECK(good(got) == "v");
        };
        aio::test::run(bench.loop, body(all, *bench.made));
    }

    TEST_CASE("words are said where a server is up, whatever slot their channel has") {
        cluster all;
        redis_bench bench(settings(all));
        auto body = [](cluster& all, store& s) -> task<> {
            auto ear = co_await hear_news(all, s);
            all.serving("sluice:news").stop();
            co_await until_up(s, false);
            auto until = aio::clock::now() + 5s;
            while (std::ranges::count(*ear, "said") == 0 && aio::clock::now() < until) {
                s.publish("news", "said"); // the ear may have to look for another server
                co_await aio::pause(20ms);
            }
            CHECK(std::ranges::count(*ear, "said") > 0);
        };
        aio::test::run(bench.loop, body(all, *bench.made));
    }

    TEST_CASE("without one of its servers the others' keys are served, and it is not up") {
        cluster all;
        redis_bench bench(settings(all));
        auto body = [](cluster& all, store& s) -> task<> {
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
                good(put);
                ++served;
            }
            CHECK(served > 0);
            all.servers[0]->start(); // it has forgotten everything, its slots, too
        };
        aio::test::run(bench.loop, body(all, *bench.made));
    }
}
