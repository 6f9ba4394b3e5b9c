// The memory engine: one replica's facts, gone with the process. Nothing here waits; the tasks are
// there for the contract. Internal to state.
#pragma once

#include "state/memory_table.hpp"

#include <memory>
#include <set>

namespace sluice::state {

class memory_store : public store {
public:
    memory_store(aio::loop& loop, memory_bounds bounds, bool shared)
        : loop_(loop), table_(bounds), shared_(shared) {}

    bool is_shared() const override { return shared_; }
    health how() const override { return {}; }

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
    void listen(std::string channel) override { ++channels_[std::move(channel)]; }
    void unlisten(std::string channel) override;

    void start() override {}
    aio::task<> shut_down() override { co_return; }

private:
    // What a key holds when it holds that kind; null when there is nothing, a fault when it is of
    // another kind.
    template <class Kind>
    base::result<Kind*> look(const std::string& key);
    base::result<void> fits(std::size_t bytes) const;
    base::result<memory_record*> log_for(const log_append& what);
    base::result<std::uint64_t> write(log_append what);
    memory_table::cell& cell_of(const std::string& key) { return *table_.find(key); }
    void deliver(const std::string& channel, const std::string& word);

    aio::loop& loop_;
    memory_table table_;
    bool shared_;
    std::vector<hearer> hearers_;                 // several only where several gateways share it
    std::map<std::string, std::size_t> channels_; // how often each is listened to
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

} // namespace sluice::state
