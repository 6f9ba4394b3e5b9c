// The servers of a Redis Cluster: one connection for commands each, found by slot. The map is
// learnt from any of them, again when a server says MOVED or is lost. Commands for a slot that
// nobody is known to serve wait for the map, never past their deadline. Internal to state.
#pragma once

#include "state/redis_node.hpp"
#include "state/redis_slots.hpp"

#include <map>
#include <memory>
#include <vector>

namespace sluice::state {

class redis_cluster {
public:
    redis_cluster(redis_surroundings& around, redis_node::reports tell);
    ~redis_cluster();

    void start();
    aio::task<> shut_down();
    std::optional<base::fault> submit(redis_command& command);
    // Follows a MOVED or ASK reply; false when the reply is neither, or enough were followed.
    bool follow(redis_command& command, const wire::resp_reply& reply);
    health how() const;
    // Any server that is not the one given last: for the subscription.
    redis_finder find_any();

private:
    redis_node* server_for(const redis_command& command) const;
    aio::task<> learn();
    aio::task<base::result<void>> refresh();
    void take_map(const wire::resp_reply& slots, const redis_address& asked);
    redis_node& node_at(const redis_address& at);
    aio::task<> retire(std::unique_ptr<redis_node> node);
    void retire_all_but(const std::vector<redis_node*>& used);
    void place_homeless();
    std::vector<redis_address> known() const;
    void changed(const base::fault* why);

    redis_surroundings& around_;
    redis_node::reports tell_;
    std::map<redis_address, std::unique_ptr<redis_node>> nodes_;
    std::vector<redis_node*> slots_; // slot_count, null = nobody known
    // Somebody serves each of them, since when; or not.
    bool whole_ = false;
    aio::instant since_ = aio::clock::now();
    std::deque<redis_command> homeless_;
    std::size_t turn_ = 0; // whom to ask next
    base::fault last_{base::errc::unreachable, "the store's servers are not known yet"};
    aio::signal_flag wanted_; // the map should be learnt again
    aio::nursery jobs_;
};

} // namespace sluice::state
