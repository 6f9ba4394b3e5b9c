// The Redis engine with three real sentinels, a master and its replica; the master is killed.
#include "aio/within.hpp"
#include "engines.hpp"
#include "logs.hpp"
#include "redis_server.hpp"

#include <thread>

using namespace sluice;
using namespace sluice::state;
using namespace sluice::state::test;

namespace {

struct watched {
    redis_server master{{"--repl-diskless-sync-delay", "0"}};
    redis_server replica{{"--replicaof", "127.0.0.1", std::to_string(master.port())}};
    std::vector<std::unique_ptr<redis_server>> sentinels;

    watched() {
        // Before the sentinels look: they look again only after ten seconds.
        auto until = aio::test::late();
        while (!copies() && aio::clock::now() < until)
            std::this_thread::sleep_for(10ms);
        REQUIRE(copies());
        auto rules = "sentinel monitor main 127.0.0.1 " + std::to_string(master.port()) +
                     " 2\n"
                     "sentinel down-after-milliseconds main 500\n"
                     "sentinel failover-timeout main 3000\n";
        for (int i = 0; i < 3; ++i)
            sentinels.push_back(std::make_unique<redis_server>(redis_server::words{}, rules));
    }

    redis_settings settings() const {
        redis_settings s;
        s.sentinels.push_back({"127.0.0.1", free_port()}); // nobody there: the next is asked
        for (const auto& one : sentinels)
            s.sentinels.push_back(one->at());
        s.master = "main";
        return s;
    }

    bool copies() const {
        return replica.info("replication").find("master_link_status:up") != std::string::npos;
    }
    // The sentinels know each other and the replica.
    bool ready() const {
        for (const auto& one : sentinels) {
            auto told = one->ask({"SENTINEL", "MASTERS"});
            bool full = told.find("num-other-sentinels\r\n$1\r\n2\r\n") != std::string::npos &&
                        told.find("num-slaves\r\n$1\r\n1\r\n") != std::string::npos;
            if (!full) return false;
        }
        return true;
    }
};

} // namespace

TEST_SUITE("store:sentinel") {

    TEST_CASE("when the master dies the store goes on with the one the sentinels name") {
        watched w;
        redis_bench bench(w.settings());
        auto body = [](watched& w, store& s) -> task<> {
            auto until = aio::clock::now() + 9s;
            while (!w.ready() && aio::clock::now() < until)
                co_await aio::pause(20ms);
            REQUIRE(w.ready());
            auto opened = co_await s.open_log("l", "me", pair("a", "b"), 60s);
            CHECK(good(opened) == 1);
            auto last = co_await s.append(note("l", 1, "x"));
            CHECK(good(last) == 1);
            auto copied = w.master.ask({"WAIT", "1", "5000"}); // the replica has all of it
            CHECK(copied.starts_with(":"));
        };
        aio::test::run(bench.loop, body(w, *bench.made));
        w.master.stop();
        // Elections take their time on a busy machine: one run of the loop each try.
        auto attempt = [](store& s, bool& done) -> task<> {
            auto until = aio::clock::now() + 5s;
            while (!done && aio::clock::now() < until) {
                auto last = co_await s.append(note("l", 1, "y"));
                done = last.ok() && s.how().up; // the subscription, too
                if (!last) CHECK(last.error().code == errc::unreachable);
                co_await aio::pause(20ms);
            }
        };
        bool done = false;
        for (int i = 0; i < 3 && !done; ++i)
            aio::test::run(bench.loop, attempt(*bench.made, done));
        REQUIRE(done);
        auto read = [](store& s) -> task<> {
            auto got = co_await s.read_log("l", 0, 1000);
            CHECK(shown(good(got)).starts_with("1n:x 2n:y"));
        };
        aio::test::run(bench.loop, read(*bench.made));
        CHECK(w.replica.info("replication").find("role:master") != std::string::npos);
    }
}
