// Registries as tests use them: one alone, or two replicas' that share a store.
#pragma once

#include "../aio/run.hpp"
#include "reading.hpp"
#include "session/registry.hpp"
#include "state/store.hpp"

#include <functional>
#include <memory>
#include <string>

namespace sluice::session::test {

inline identity of_key(std::string principal) {
    identity who;
    who.principal = std::move(principal);
    who.scope = "/mcp";
    return who;
}

// Runs a body with a registry and joins it afterwards, whatever the body left.
inline void with_registry(settings bounds, std::function<task<>(registry&)> body) {
    loop on;
    registry all(on.get_executor(), bounds);
    auto whole = [](registry& in, std::function<task<>(registry&)> inner) -> task<> {
        co_await inner(in);
        co_await in.shut_down();
        CHECK(in.size() == 0);
    };
    run(on, whole(all, std::move(body)));
}

inline task<bool> gone_within_patience(registry& in, std::string id, std::string principal) {
    auto until = aio::test::late();
    while (aio::clock::now() < until) {
        // find() is a use and would keep it alive: look at the size instead.
        if (in.size() == 0) co_return in.find(id, principal) == nullptr;
        auto ex = co_await aio::asio::this_coro::executor;
        aio::timer t(ex);
        t.expires_after(std::chrono::milliseconds(1));
        co_await t.async_wait(aio::nothrow);
    }
    co_return false;
}

// Two replicas that share a store, on one loop.
struct two {
    explicit two(settings from) : bounds(from) { store->start(); }

    task<std::shared_ptr<session>> open(registry& in) {
        auto opened = in.open(of_key("alice"));
        REQUIRE(opened);
        auto kept = co_await in.kept()->create((*opened)->who());
        REQUIRE(kept);
        co_return *opened;
    }
    // As if no replica had used it for that long.
    task<> age(std::string key, std::chrono::milliseconds by) {
        auto life = bounds.idle_ttl + record_margin - by;
        auto listed = co_await store->enlist("k:alice", key, life, 0);
        REQUIRE(listed);
        auto kept = co_await store->keep(records::record_key(key), life);
        REQUIRE(kept);
    }
    void run(std::function<task<>(two&)> body) {
        auto whole = [](two& p, std::function<task<>(two&)> inner) -> task<> {
            co_await inner(p);
            co_await p.a.shut_down();
            co_await p.b.shut_down();
            co_await p.store->shut_down();
        };
        test::run(on, whole(*this, std::move(body)));
    }

    loop on;
    settings bounds;
    std::unique_ptr<state::store> store = state::make_memory_store(on, {}, true);
    sys::sealer seals{{base::secret("a salt of at least thirty-two bytes, really")}};
    records of_a{*store, seals, bounds, [] { return std::string("a"); }};
    records of_b{*store, seals, bounds, [] { return std::string("b"); }};
    registry a{on.get_executor(), bounds, &of_a};
    registry b{on.get_executor(), bounds, &of_b};
};

} // namespace sluice::session::test
