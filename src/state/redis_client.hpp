// All connections to one store: which server gets a command, what becomes of its reply, who hears.
// One server, the master under Sentinel, or the servers of a cluster by slot. Internal to state.
#pragma once

#include "state/redis_cluster.hpp"
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
    redis_ear& ear() { return *ear_; }
    health how() const;

private:
    std::optional<base::fault> pass_on(redis_command& command);
    void release();
    void route(redis_command command);
    void refuse(redis_command command, base::fault why);
    void answered(redis_command command, base::result<wire::resp_reply> reply);
    void finish(const redis_command& command, base::result<wire::resp_reply> reply);
    void changed(std::string_view which, const base::fault* why);

    redis_surroundings& around_;
    sys::meters* meters_;
    redis_finder find_;
    // One of the two.
    std::unique_ptr<redis_node> node_;
    std::unique_ptr<redis_cluster> cluster_;
    std::unique_ptr<redis_ear> ear_;
    std::size_t bytes_ = 0;          // of commands that wait, wherever, or are under way
    std::deque<redis_command> held_; // until every channel listened to is heard
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

} // namespace sluice::state
