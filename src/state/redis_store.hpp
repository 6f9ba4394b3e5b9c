// The Redis engine: each step of the contract is one command or one script on one key. Internal to
// state.
#pragma once

#include "aio/nursery.hpp"
#include "state/redis_client.hpp"
#include "state/redis_scripts.hpp"
#include "state/store.hpp"

#include <memory>

namespace sluice::state {

class redis_store final : public store {
public:
    redis_store(redis_surroundings around, sys::meters* meters);
    ~redis_store() override;

    bool is_shared() const override { return true; }
    health how() const override { return client_.how(); }

    aio::task<base::result<void>>
    put(std::string key, std::string value, milliseconds ttl) override;
    aio::task<base::result<std::optional<std::string>>> get(std::string key) override;
    aio::task<base::result<std::optional<std::string>>>
    put_new(std::string key, std::string value, milliseconds ttl) override;
    aio::task<base::result<bool>>
    replace(std::string key, std::string expected, std::string value, milliseconds ttl) override;

    aio::task<base::result<bool>> erase(std::string key) override;
    aio::task<base::result<bool>> keep(std::string key, milliseconds ttl) override;
    aio::task<base::result<std::optional<milliseconds>>> time_left(std::string key) override;

    aio::task<base::result<bool>> create(std::string key, fields values, milliseconds ttl) override;
    aio::task<base::result<std::optional<fields>>> read(std::string key) override;
    aio::task<base::result<std::optional<std::string>>>
    read_field(std::string key, std::string field) override;
    aio::task<base::result<bool>> set(std::string key, fields values) override;
    aio::task<base::result<std::optional<std::string>>>
    set_new(std::string key, std::string field, std::string value) override;
    aio::task<base::result<bool>>
    set_if(std::string key, std::string field, std::string expected, std::string value) override;
    aio::task<base::result<bool>> unset(std::string key, std::string field) override;

    aio::task<base::result<std::uint64_t>>
    open_log(std::string key, std::string owner, fields record, milliseconds ttl) override;
    aio::task<base::result<std::uint64_t>> append(log_append what) override;
    aio::task<base::result<std::optional<log_page>>>
    read_log(std::string key, std::uint64_t after, std::size_t max_bytes) override;
    aio::task<base::result<std::uint64_t>>
    adopt_log(std::string key, std::uint64_t epoch, std::string owner) override;

    aio::task<base::result<bool>>
    enlist(std::string roster, std::string member, milliseconds ttl, std::size_t cap) override;
    aio::task<base::result<bool>> leave(std::string roster, std::string member) override;
    aio::task<base::result<std::vector<std::string>>> members(std::string roster) override;

    void publish(std::string channel, std::string word) override;
    void on_word(hearer words, std::function<void()> gap) override;
    void listen(std::string channel) override;
    void unlisten(std::string channel) override;

    void start() override { client_.start(); }
    aio::task<> shut_down() override;

private:
    using reply = wire::resp_reply;

    std::string named(std::string_view key) const {
        return around_.settings.key_prefix + std::string(key);
    }
    base::result<void> fits(std::size_t bytes) const;
    redis_command command(std::string_view op, std::string_view key, redis_words words) const;
    // The reply, an error reply made a fault.
    aio::task<base::result<reply>>
    run(std::string_view op, const redis_script& script, std::string key, redis_words arguments);
    // `words` less the key, which comes second.
    aio::task<base::result<reply>> ask(std::string_view op, std::string key, redis_words words);
    aio::task<base::result<reply>> send(redis_command what);
    redis_command writing(log_append what) const;
    redis_command saying(std::string channel, std::string word) const; // its name in full
    void say_missed();
    aio::task<> keep_saying_missed();

    redis_surroundings around_;
    redis_client client_;
    std::uint64_t unheard_ = 0; // words of ours of which nobody was told yet that he missed them
    aio::nursery jobs_;
};

} // namespace sluice::state
