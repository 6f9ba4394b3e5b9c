// All connections to one store: which server gets a command, what becomes of its reply, who hears.
// One server for now or its master under Sentinel; the servers of a cluster by slot. Internal to
// state.
#pragma once

#include "aio/latch.hpp"
#include "state/redis_ear.hpp"
#include "state/redis_node.hpp"
#include "sys/meters.hpp"

#include <memory>

namespace sluice::state {

class redis_client {
public:
    redis_client(redis_surroundings& around, sys::meters* meters);
    ~redis_client();

    void start();
    aio::task<> shut_down();
    // Never calls the command's done from inside.
    void submit(redis_command command);
    void refuse(redis_command command, base::fault why);
    redis_ear& ear() { return ear_; }
    health how() const;

private:
    redis_finder finder();
    void answered(redis_command command, base::result<wire::resp_reply> reply);
    void finish(redis_command command, base::result<wire::resp_reply> reply);
    void changed(std::string_view which, const base::fault* why);

    redis_surroundings& around_;
    sys::meters* meters_;
    redis_node node_;
    redis_ear ear_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

} // namespace sluice::state
