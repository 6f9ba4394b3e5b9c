// The replicas that share the store: this one's lease, and who else lives. A replica is known by an
// id that is new with every process and stays for its whole life, also when its lease runs out
// while the store is away. The lease is the key replica:<id>, whose value is the address where
// peers reach it; all of them are on the roster `replicas`, each with a mark of its configuration
// (docs/state.md). With a store that is not shared there is nobody else.
#pragma once

#include "aio/nursery.hpp"
#include "aio/task.hpp"
#include "base/result.hpp"
#include "gateway/courier.hpp"
#include "gateway/settings.hpp"
#include "state/store.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::gateway {

struct replica {
    std::string id;
    std::string address;
    std::string runs = {}; // the configuration in force there, as now_runs() was told
};

class replicas {
public:
    replicas(aio::loop& loop, state::store& store, peer_settings from);

    const std::string& self() const { return self_; }
    bool is_me(std::string_view id) const { return id == self_; }
    bool alone() const { return !store_.is_shared(); }
    // Our lease is known to be good: it was renewed less than a lease ago.
    bool holds_lease() const;
    // The store is there and has not heard of us for a lease: others may have taken over.
    bool may_be_taken_over() const { return !holds_lease() && store_.how().up; }
    // Called when a lease that had run out, or that the store had lost with whatever else it held,
    // is ours again. Before start().
    void on_regained(std::function<void()> what) { regained_ = std::move(what); }
    std::chrono::milliseconds lease() const { return from_.lease; }

    // Who carries what this replica says to another; lives as long as sessions do. Null where
    // nobody does.
    void reach_by(courier& whom) { courier_ = &whom; }
    courier* reached_by() const { return courier_; }

    // Before start(): the address may be known only once the listener stands.
    void be_at(std::string address) { from_.address = std::move(address); }
    // Which configuration is in force here, a word without spaces; said to the others.
    void now_runs(std::string configuration);
    // Takes the lease and keeps it, in the background.
    void start();
    // Gives the lease back, so that nobody waits for it to run out.
    aio::task<> shut_down();

    // Where a live replica is, at most a second old. errc::not_found: there is no such replica (any
    // more). errc::unreachable: the store is away, or was until a moment ago and does not know.
    aio::task<base::result<std::string>> find(std::string id);
    // Every other live replica. One that was killed stays until its lease is over.
    aio::task<base::result<std::vector<replica>>> others();
    // Whether every live replica has that configuration in force.
    aio::task<base::result<bool>> all_run(std::string configuration);
    // Empties a field that holds our id: tried until the store has heard it, or it is claimed here
    // again. Not waited for.
    void give_back(std::string record, std::string field);
    void claims_again(const std::string& record, const std::string& field) {
        giving_back_.erase({record, field});
    }
    // The store has been up for a whole lease, and for as long as anybody needs to notice it: what
    // is not in it by now will not come.
    bool store_is_settled() const;
    // Whether what that replica held may be taken over: it is dead, and the store has been up for a
    // whole lease, so that everybody alive had time to renew his (decision 4). False when not
    // known.
    aio::task<bool> may_take_over(std::string id);

private:
    struct sighting {
        std::string address; // empty = dead
        aio::instant until;
    };

    aio::task<> keep_lease();
    aio::task<bool> renew();
    aio::task<> give_back_until(std::string record, std::string field, std::uint64_t turn);
    aio::task<> list_anew(std::string before);
    std::string member() const { return self_ + " " + from_.address + " " + runs_; }
    aio::duration settling() const; // how long after its return the store is not yet complete
    bool was_away() const;          // the store, for our own lease, less than that ago
    std::string lease_key(std::string_view id) const { return "replica:" + std::string(id); }
    aio::task<base::result<std::string>> look_up(std::string id);

    state::store& store_;
    courier* courier_ = nullptr;
    peer_settings from_;
    std::string self_;
    std::string runs_;
    aio::instant renewed_{}; // when the last renewal that succeeded was sent
    bool leased_ = false;
    bool had_lease_ = false;
    std::function<void()> regained_;
    bool away_ = false;   // the last renewal failed
    aio::instant back_{}; // when one succeeded again
    std::map<std::string, sighting, std::less<>> seen_;
    std::map<std::pair<std::string, std::string>, std::uint64_t> giving_back_;
    std::uint64_t turns_ = 0;
    aio::nursery keeper_;
};

} // namespace sluice::gateway
