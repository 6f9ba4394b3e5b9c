// The subscription side of the Redis engine: one connection that hears, made again when it is lost,
// with every channel subscribed anew and a gap reported, for words may have been missed meanwhile.
// Internal to state.
#pragma once

#include "aio/channel.hpp"
#include "aio/nursery.hpp"
#include "state/redis_link.hpp"
#include "state/redis_node.hpp"
#include "state/redis_uptime.hpp"
#include "state/store.hpp"

#include <functional>
#include <map>

namespace sluice::state {

class redis_ear {
public:
    // `changed` hears of up (null) and down, `settled` whenever settled() has become true.
    redis_ear(
        redis_surroundings& around,
        redis_finder find,
        std::function<void(const base::fault*)> changed,
        std::function<void()> settled
    );
    ~redis_ear();

    void start();
    aio::task<> shut_down();
    // Channels with their prefix. What is heard is told without it.
    void on_word(store::hearer words, std::function<void()> gap);
    void listen(std::string channel);
    void unlisten(const std::string& channel);

    health how() const { return uptime_.how(); }
    // Whether every channel listened to is heard by now (or nothing is heard at all).
    bool settled() const { return !uptime_.is_up() || unconfirmed_ == 0; }

private:
    aio::task<> run();
    aio::task<base::result<void>> connect();
    void subscribe_all();
    aio::task<base::fault> read_loop();
    aio::task<> write_loop();
    bool take(const wire::resp_reply& push);
    void now_up(bool up, const base::fault* why);

    redis_surroundings& around_;
    redis_finder find_;
    std::function<void(const base::fault*)> changed_;
    std::function<void()> settled_;
    store::hearer words_;
    std::function<void()> gap_;
    std::map<std::string, std::size_t, std::less<>> channels_; // how often each is listened to
    std::unique_ptr<redis_link> link_;
    std::vector<redis_words> out_;
    std::size_t unconfirmed_ = 0;
    bool fresh_ = false; // the subscriptions of a new connection are not all confirmed yet
    bool pinged_ = false;
    bool writing_ = false;
    aio::signal_flag work_;
    aio::signal_flag idle_;
    redis_uptime uptime_;
    aio::nursery writer_;
    aio::nursery runner_;
};

} // namespace sluice::state
