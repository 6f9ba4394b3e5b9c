#include "../aio/run.hpp"
#include "aio/within.hpp"
#include "gateway/replicas.hpp"
#include "gateway/roll.hpp"
#include "sys/log.hpp"

using namespace sluice;
using namespace sluice::gateway;
using namespace std::chrono_literals;

namespace {

// One replica with its lease, its sessions and its roll.
struct post {
    post() { sys::configure_log({sys::log_level::off, sys::log_format::json}); }
    ~post() { sys::configure_log({}); }
    post(const post&) = delete;
    post& operator=(const post&) = delete;

    void run(std::function<aio::task<>(post&)> body) {
        auto whole = [](post& p, std::function<aio::task<>(post&)> inner) -> aio::task<> {
            p.store->start();
            p.kept.tell_of_work([&p](const std::string& session) { p.listed.add(session); });
            p.listed.start();
            co_await inner(p);
            co_await p.sessions.shut_down();
            co_await p.listed.shut_down();
            auto stands = co_await p.store->read(roll::name_of(p.self.self()));
            CHECK_FALSE(stands->has_value());
            auto rolls = co_await p.store->members(std::string(roll::all));
            CHECK(rolls->empty());
            co_await p.store->shut_down();
        };
        aio::test::run(loop, whole(*this, std::move(body)));
    }

    std::shared_ptr<session::session> open(bool one_stream) {
        session::identity who;
        who.scope = "/mcp";
        who.one_stream = one_stream;
        auto opened = sessions.open(std::move(who));
        REQUIRE(opened);
        return *opened;
    }
    aio::task<bool> is_on_roll(std::string session) {
        auto all = co_await store->read(roll::name_of(self.self()));
        REQUIRE(all);
        co_return *all&& std::any_of((*all)->begin(), (*all)->end(), [&](const auto& one) {
            return one.first == session && one.second == self.self();
        });
    }
    aio::task<bool> comes_to(std::string session, bool listed_then) {
        auto until = aio::test::late();
        bool now = !listed_then;
        while (now != listed_then && aio::clock::now() < until) {
            co_await aio::pause(1ms);
            now = co_await is_on_roll(session);
        }
        co_return now == listed_then;
    }

    aio::loop loop;
    session::settings bounds;
    std::unique_ptr<state::store> store = state::make_memory_store(loop, {}, true);
    sys::sealer seals{{base::secret("a salt of at least thirty-two bytes, really")}};
    replicas self{loop, *store, {"127.0.0.1:1", 30ms}};
    session::records kept{*store, seals, bounds, [this] { return self.self(); }};
    session::registry sessions{loop.get_executor(), bounds, &kept};
    roll listed{loop, *store, self, sessions};
};

} // namespace

TEST_CASE("a session is on its replica's roll while a stream of it is kept there, and not after") {
    post here;
    here.run([](post& p) -> aio::task<> {
        auto host = p.open(false);
        auto made = co_await p.kept.create(host->who());
        REQUIRE(made);
        auto out = host->open_stream(1);
        co_await host->keep_stream(out);
        bool on = co_await p.comes_to(host->who().key, true);
        CHECK(on);
        CHECK(host->holds_work());
        auto rolls = co_await p.store->members(std::string(roll::all));
        CHECK(*rolls == std::vector{p.self.self()});
        out->push_final("{}");
        bool off = co_await p.comes_to(host->who().key, false);
        CHECK(off);
        CHECK_FALSE(host->holds_work());
    });
}

TEST_CASE("one of a single stream is on it from the beginning to its end, others beside it or not"
) {
    post here;
    here.run([](post& p) -> aio::task<> {
        auto host = p.open(true);
        auto beside = p.open(true);
        bool on = co_await p.comes_to(beside->who().key, true);
        CHECK(on);
        beside->end();
        bool off = co_await p.comes_to(beside->who().key, false);
        CHECK(off);
        on = co_await p.is_on_roll(host->who().key);
        CHECK(on);
    });
}

TEST_CASE("a roll that the store has lost is written again, whole") {
    post here;
    here.run([](post& p) -> aio::task<> {
        auto first = p.open(true);
        auto second = p.open(true);
        bool on = co_await p.comes_to(second->who().key, true);
        CHECK(on);
        auto lost = co_await p.store->erase(roll::name_of(p.self.self()));
        CHECK(*lost);
        on = co_await p.comes_to(first->who().key, true);
        CHECK(on);
        on = co_await p.comes_to(second->who().key, true);
        CHECK(on);
    });
}
