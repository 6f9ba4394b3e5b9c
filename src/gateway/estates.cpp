#include "gateway/estates.hpp"

#include "aio/within.hpp"
#include "gateway/replicas.hpp"
#include "gateway/resuming.hpp"
#include "gateway/roll.hpp"
#include "sys/log.hpp"

#include <algorithm>
#include <utility>

namespace sluice::gateway {

namespace {

void say_dead(const std::string& id) {
    sys::log_line(sys::log_level::info, "replica")
        .field("id", id)
        .field("text", "is dead; the calls it has left are taken over here and at other replicas");
}

} // namespace

estates::estates(const grounds& on, std::function<house&()> newest)
    : on_(on), newest_(std::move(newest)), looking_(on.loop.get_executor(), "gateway") {}

void estates::start() {
    if (on_.replicas.alone()) return;
    auto job = look_round();
    looking_.spawn(std::move(job));
}

aio::task<> estates::shut_down() {
    looking_.stop();
    co_await looking_.join();
}

aio::task<> estates::look_round() {
    co_await aio::keep_running_when_cancelled();
    while (!looking_.stopping()) {
        co_await aio::pause(on_.replicas.lease() / 3);
        if (!looking_.stopping()) co_await look();
    }
}

// A lease longer than anybody who asks for a call would wait: one that could not renew its lease
// may come back, and goes on with its calls then.
aio::task<> estates::look() {
    auto rolls = co_await on_.sessions.kept()->store().members(std::string(roll::all));
    if (!rolls) co_return;
    std::erase_if(deaths_, [&](const auto& one) {
        return std::find(rolls->begin(), rolls->end(), one.first) == rolls->end();
    });
    for (auto& id : *rolls) {
        if (looking_.stopping()) break;
        bool dead = co_await on_.replicas.may_take_over(id);
        if (!dead) {
            deaths_.erase(id);
            continue;
        }
        auto& death = deaths_.try_emplace(id).first->second;
        if (death.seen == aio::instant()) death.seen = aio::clock::now();
        if (aio::clock::now() - death.seen < on_.replicas.lease()) continue;
        if (!std::exchange(death.said, true)) say_dead(id);
        co_await settle(std::move(id));
    }
}

aio::task<> estates::settle(std::string dead) {
    auto& store = on_.sessions.kept()->store();
    auto left = co_await store.read(roll::name_of(dead));
    if (!left) co_return;
    if (!*left || (*left)->empty()) {
        auto gone = co_await store.erase(roll::name_of(dead));
        if (gone) [[maybe_unused]]
            auto off = co_await store.leave(std::string(roll::all), std::move(dead));
        co_return;
    }
    for (auto& [session, holder] : **left) {
        if (looking_.stopping()) break;
        share what{dead, session, std::move(holder)};
        bool settled = co_await settle_one(std::move(what));
        if (settled) [[maybe_unused]]
            auto off = co_await store.unset(roll::name_of(dead), std::move(session));
    }
}

aio::task<bool> estates::settle_one(share what) {
    auto known = co_await on_.sessions.kept()->find_by_key(what.session);
    if (!known) co_return false;
    if (!*known) co_return true;
    auto& who = **known;
    bool lost_home = who.home == what.dead;
    if (!who.home.empty() && !lost_home && !on_.replicas.is_me(who.home)) {
        lost_home = co_await on_.replicas.may_take_over(who.home);
        if (!lost_home) co_return false; // its home looks after it
    }
    bool ours = co_await hold(what);
    if (!ours) co_return false;
    if (lost_home && who.one_stream) {
        auto ended = co_await on_.sessions.end(std::move(who));
        co_return ended.ok();
    }
    if (lost_home) {
        auto moved = co_await on_.sessions.kept()->move_home(who.id, who.home);
        if (!moved || !*moved) co_return false;
    }
    auto taken = co_await on_.sessions.adopt(who.id, who.principal);
    if (!taken) co_return false;
    bool settled = taken->home.empty(); // gone, or at another home meanwhile
    if (taken->here) settled = co_await settle_calls(std::move(taken->here), std::move(what.dead));
    co_return settled;
}

// Whoever held it first does, as long as he lives.
aio::task<bool> estates::hold(const share& what) {
    if (on_.replicas.is_me(what.holder)) co_return true;
    bool free = what.holder == what.dead;
    if (!free) free = co_await on_.replicas.may_take_over(what.holder);
    if (!free) co_return false;
    auto& store = on_.sessions.kept()->store();
    auto taken = co_await store.set_if(
        roll::name_of(what.dead), what.session, what.holder, on_.replicas.self()
    );
    co_return taken && *taken;
}

// Each is taken over by what reads its log, which is begun here and goes on by itself: looked at
// again until all have ended.
aio::task<bool> estates::settle_calls(std::shared_ptr<session::session> host, std::string dead) {
    auto record = co_await host->read_record();
    if (!record) co_return record.error().code == base::errc::not_found;
    auto& in = newest_();
    auto held = in.hold();
    bool all = true;
    for (auto& [field, value] : *record) {
        if (!session::session::is_call_field(field)) continue;
        auto [replica, handle] = session::session::where_it_runs(value);
        if (replica != dead) continue;
        auto rest = co_await open_rest(in, host, std::move(handle));
        bool over = rest ? (*rest)->done() : rest.error().code == base::errc::not_found;
        all = all && over;
        if (!over) continue;
        [[maybe_unused]] auto gone = co_await host->kept()->store().set_if(
            session::records::record_key(host->who().key), field, std::move(value), std::string()
        );
    }
    co_return all;
}

} // namespace sluice::gateway
