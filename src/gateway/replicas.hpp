// The replicas that share the store: this one's lease, and who else lives. A replica is known by an
// id that is new with every process, and new again when the process finds its lease run out: what
// it held under the old id may be another's by now. The lease is the key replica:<id>, whose value
// is the address where peers reach it; all of them are on the roster `replicas` (docs/state.md).
// With a store that is not shared there is nobody else.
#pragma once

#include "aio/nursery.hpp"
#include "aio/task.hpp"
#include "base/result.hpp"
#include "gateway/settings.hpp"
#include "state/store.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::gateway {

struct replica {
    std::string id;
    std::string address;
};

class replicas {
public:
    replicas(aio::loop& loop, state::store& store, peer_settings from);

    const std::string& self() const { return self_; }
    // This process, now or under an id that it had before.
    bool is_me(std::string_view id) const;
    bool alone() const { return !store_.is_shared(); }
    // Our lease is known to be good: it was renewed less than a lease ago.
    bool holds_lease() const;
    std::chrono::milliseconds lease() const { return from_.lease; }

    // Before start(): the address may be known only once the listener stands.
    void be_at(std::string address) { from_.address = std::move(address); }
    // Takes the lease and keeps it, in the background.
    void start();
    // Runs after self() has become another: what was held under the old id is no longer ours.
    void on_renamed(std::function<void(const std::string& before)> tell);
    // Gives the lease back, so that nobody waits for it to run out.
    aio::task<> shut_down();

    // Where a live replica is, at most a second old. errc::not_found: there is no such replica (any
    // more, ids never come back). errc::unreachable: the store is away.
    aio::task<base::result<std::string>> find(std::string id);
    // Every other live replica. One that was killed stays until its lease is over.
    aio::task<base::result<std::vector<replica>>> others();
    // The store has been up for a whole lease: what is not in it by now will not come.
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
    void rename();
    std::string lease_key(std::string_view id) const { return "replica:" + std::string(id); }
    aio::task<base::result<std::string>> look_up(std::string id);

    state::store& store_;
    peer_settings from_;
    std::string self_;
    std::vector<std::string> former_; // newest last
    aio::instant renewed_{};          // when the last renewal that succeeded was sent
    bool leased_ = false;
    std::function<void(const std::string&)> renamed_;
    std::map<std::string, sighting, std::less<>> seen_;
    aio::nursery keeper_;
};

} // namespace sluice::gateway
