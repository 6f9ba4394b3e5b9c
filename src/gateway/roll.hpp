// The sessions of which this replica alone has something that another would have to go on with, or
// to end, if it died: calls that have become streams, and the one stream of an HTTP+SSE host. They
// stand in the store under this replica's id for as long as there are any (docs/state.md), so that
// those who live find them when its lease is over: estates.hpp. Decisions 2 and 4.
#pragma once

#include "aio/channel.hpp"
#include "aio/nursery.hpp"
#include "aio/task.hpp"
#include "session/registry.hpp"
#include "state/store.hpp"

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::gateway {

class replicas;

class roll {
public:
    // Whose rolls there are, and the name of one.
    static constexpr std::string_view all = "rolls";
    static std::string name_of(std::string_view replica) { return "roll:" + std::string(replica); }

    roll(aio::loop& loop, state::store& store, replicas& whose, const session::registry& sessions);

    // That session has something here, by its key in the store. It leaves when it has nothing more
    // (session::holds_work), a while later.
    void add(const std::string& session);
    void start();
    // Nothing of it is left: for when all sessions here have ended, or are left to others.
    aio::task<> shut_down();

private:
    struct entry {
        aio::instant added;
        bool written = false;
    };

    aio::task<> keep();
    void let_go_of_finished();
    aio::task<bool> write_down(); // false while the store is away
    aio::task<bool> write_whole();
    aio::task<bool> write_changes();
    aio::task<bool> erase();
    state::fields unwritten() const;
    void mark_written(const state::fields& which);
    aio::duration pace() const;
    std::chrono::milliseconds life() const;

    state::store& store_;
    replicas& whose_;
    const session::registry& sessions_;
    std::map<std::string, entry> listed_;
    std::vector<std::string> leaving_; // written, and to be unwritten
    bool stands_ = false;              // in the store
    aio::instant renewed_{};
    aio::signal_flag wake_;
    aio::nursery keeper_;
};

} // namespace sluice::gateway
