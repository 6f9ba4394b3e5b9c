// Whether a connection that is made again and again stands, since when, and whether that is news
// for who hears of it. Internal to state.
#pragma once

#include "aio/task.hpp"
#include "state/store.hpp"

#include <optional>
#include <utility>

namespace sluice::state {

class redis_uptime {
public:
    void begin() { since_ = aio::clock::now(); }
    // It stands now, or an attempt has failed. True when that was not the last thing reported.
    bool turn(bool up) {
        if (up != up_) since_ = aio::clock::now();
        up_ = up;
        return std::exchange(told_, up) != up;
    }
    // Its keeper ends, which is news to nobody.
    void end() { up_ = false; }

    bool is_up() const { return up_; }
    aio::instant since() const { return since_; }
    health how() const { return {up_, since_}; }

private:
    bool up_ = false;
    std::optional<bool> told_;
    aio::instant since_ = aio::clock::now();
};

} // namespace sluice::state
