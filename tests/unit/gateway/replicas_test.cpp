#include "../aio/run.hpp"
#include "aio/within.hpp"
#include "gateway/replicas.hpp"
#include "state/store.hpp"
#include "sys/clock.hpp"
#include "sys/log.hpp"

using namespace sluice;
using namespace sluice::gateway;
using namespace std::chrono_literals;

namespace {

struct street {
    explicit street(bool shared = true, std::chrono::milliseconds lease = 5s)
        : store(state::make_memory_store(loop, {}, shared)), how{"127.0.0.1:1", lease} {
        sys::configure_log({sys::log_level::off, sys::log_format::json});
        store->start();
    }
    ~street() { sys::configure_log({}); }
    street(const street&) = delete;
    street& operator=(const street&) = delete;

    // Started, and its lease taken.
    aio::task<std::unique_ptr<replicas>> open(std::string address) {
        auto settings = how;
        settings.address = std::move(address);
        auto made = std::make_unique<replicas>(loop, *store, settings);
        made->start();
        while (!made->holds_lease())
            co_await aio::pause(1ms);
        co_return made;
    }

    void run(std::function<aio::task<>(street&)> body) {
        auto whole = [](street& s, std::function<aio::task<>(street&)> inner) -> aio::task<> {
            co_await inner(s);
            co_await s.store->shut_down();
        };
        aio::test::run(loop, whole(*this, std::move(body)));
    }

    aio::loop loop;
    std::unique_ptr<state::store> store;
    peer_settings how;
};

} // namespace

TEST_CASE("replicas that share a store find each other, until one gives its lease back") {
    street all;
    all.run([](street& s) -> aio::task<> {
        auto a = co_await s.open("10.0.0.1:9191");
        auto b = co_await s.open("10.0.0.2:9191");
        CHECK(a->self() != b->self());
        auto address = co_await a->find(b->self());
        REQUIRE(address);
        CHECK(*address == "10.0.0.2:9191");
        auto others = co_await a->others();
        REQUIRE(others);
        REQUIRE(others->size() == 1);
        CHECK(others->front().id == b->self());
        CHECK(others->front().address == "10.0.0.2:9191");
        co_await b->shut_down();
        others = co_await a->others();
        REQUIRE(others);
        CHECK(others->empty());
        co_await a->shut_down();
        auto gone = co_await b->find(a->self());
        REQUIRE_FALSE(gone);
        CHECK(gone.error().code == base::errc::not_found);
    });
}

TEST_CASE("a replica knows whether all that live have its configuration in force") {
    street all;
    all.run([](street& s) -> aio::task<> {
        auto a = co_await s.open("10.0.0.1:9191");
        auto b = co_await s.open("10.0.0.2:9191");
        a->now_runs("new");
        auto agreed = co_await a->all_run("new");
        REQUIRE(agreed);
        CHECK_FALSE(*agreed);
        auto others = co_await b->others();
        REQUIRE(others);
        REQUIRE(others->size() == 1); // not once with each configuration it had
        CHECK(others->front().address == "10.0.0.1:9191");
        CHECK(others->front().runs == "new");
        b->now_runs("new");
        agreed = co_await a->all_run("new");
        REQUIRE(agreed);
        CHECK(*agreed);
        a->now_runs("newer");
        agreed = co_await b->all_run("new");
        CHECK_FALSE(*agreed);
        co_await a->shut_down();
        agreed = co_await b->all_run("new");
        REQUIRE(agreed);
        CHECK(*agreed); // who has left is not waited for
        co_await b->shut_down();
    });
}

TEST_CASE("with a store of its own a replica is alone") {
    street all(false);
    all.run([](street& s) -> aio::task<> {
        auto a = co_await s.open("");
        CHECK(a->alone());
        auto others = co_await a->others();
        REQUIRE(others);
        CHECK(others->empty());
        auto found = co_await a->find("somebody");
        REQUIRE_FALSE(found);
        CHECK(found.error().code == base::errc::not_found);
        bool may = co_await a->may_take_over("somebody");
        CHECK_FALSE(may);
        co_await a->shut_down();
    });
}

TEST_CASE("what a replica held may be taken over when it is dead, not before") {
    street all(true, 120ms);
    all.run([](street& s) -> aio::task<> {
        auto a = co_await s.open("10.0.0.1:9191");
        auto b = co_await s.open("10.0.0.2:9191");
        bool may = co_await a->may_take_over("dead");
        CHECK(may);
        may = co_await a->may_take_over(b->self());
        CHECK_FALSE(may);
        may = co_await a->may_take_over(a->self());
        CHECK_FALSE(may);
        co_await b->shut_down();
        may = co_await a->may_take_over(b->self());
        CHECK(may);
        co_await a->shut_down();
    });
}

TEST_CASE("a replica whose lease ran out is found again under the same id") {
    street all(true, 60ms);
    all.run([](street& s) -> aio::task<> {
        auto a = co_await s.open("10.0.0.1:9191");
        auto b = co_await s.open("10.0.0.2:9191");
        auto before = a->self();
        bool may = true;
        for (int round = 0; round < 3; ++round) {
            auto erased = co_await s.store->erase("replica:" + before);
            REQUIRE(erased);
            CHECK(*erased);
            may = co_await b->may_take_over(before);
            CHECK(may); // and is seen as dead for up to a second
            auto stands = co_await s.store->get("replica:" + before);
            while (stands && !*stands) {
                co_await aio::pause(2ms);
                stands = co_await s.store->get("replica:" + before);
            }
            may = co_await b->may_take_over(before);
            CHECK_FALSE(may);
            auto found = co_await b->find(before);
            REQUIRE(found);
            CHECK(*found == "10.0.0.1:9191");
        }
        CHECK(a->self() == before);
        CHECK(a->is_me(before));
        CHECK_FALSE(a->is_me(b->self()));
        co_await a->shut_down();
        co_await b->shut_down();
    });
}
