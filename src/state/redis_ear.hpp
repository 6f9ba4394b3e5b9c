// The subscription side of the Redis engine: one connection that hears, made again when it is lost,
// with every channel subscribed anew and a gap reported, for words may have been missed meanwhile;
// or when another replica reports one.
// Internal to state.
#pragma once

#include "state/redis_line.hpp"
#include "state/store.hpp"

#include <functional>
#include <map>

namespace sluice::state {

// The channel that every ear listens to, and what is said there: some replica could not say a word.
inline constexpr std::string_view ears = "ears";
inline constexpr std::string_view words_missed = "missed";

class redis_ear final : public redis_line {
public:
    // `changed` hears of up (null) and down, `settled` whenever settled() has become true.
    redis_ear(
        redis_surroundings& around,
        redis_finder find,
        std::function<void(const base::fault*)> changed,
        std::function<void()> settled
    );
    ~redis_ear() override;

    // Channels with their prefix. What is heard is told without it.
    void on_word(store::hearer words, std::function<void()> gap);
    void listen(std::string channel);
    void unlisten(const std::string& channel);

    // Whether every channel listened to is heard by now (or nothing is heard at all).
    bool settled() const { return !uptime_.is_up() || unconfirmed_ == 0; }

private:
    void stands() override;
    void fell(const base::fault& why) override;
    std::string next_bytes() override;
    aio::task<base::fault> read_loop() override;
    void subscribe_all();
    bool take(const wire::resp_reply& push);

    std::function<void(const base::fault*)> changed_;
    std::function<void()> settled_;
    store::hearer words_;
    std::function<void()> gap_;
    std::map<std::string, std::size_t, std::less<>> channels_; // how often each is listened to
    std::vector<redis_words> out_;
    std::size_t unconfirmed_ = 0;
    bool fresh_ = false; // the subscriptions of a new connection are not all confirmed yet
    bool pinged_ = false;
};

} // namespace sluice::state
