#include "state/store.hpp"
#include "sys/clock.hpp"

#include <cstdint>
#include <list>
#include <unordered_map>

namespace sluice::state {

namespace {

class memory_store : public store {
public:
    explicit memory_store(memory_bounds bounds) : bounds_(bounds) {}

    aio::task<base::result<void>>
    put(std::string key, std::string value, std::chrono::milliseconds ttl) override {
        if (value.size() > bounds_.max_bytes) {
            co_return base::fault(
                base::errc::too_large, "the value is larger than the memory store"
            );
        }
        drop(key);
        bytes_ += key.size() + value.size();
        order_.push_back({key, std::move(value), sys::wall_ms() + ttl.count()});
        index_[std::move(key)] = std::prev(order_.end());
        while (order_.size() > bounds_.max_entries || bytes_ > bounds_.max_bytes ||
               is_over(order_.front())) {
            drop(std::string(order_.front().key));
        }
        co_return base::result<void>();
    }

    aio::task<base::result<std::optional<std::string>>> get(std::string key) override {
        auto it = index_.find(key);
        if (it == index_.end() || is_over(*it->second)) co_return std::optional<std::string>();
        co_return std::optional(it->second->value);
    }

private:
    struct entry {
        std::string key;
        std::string value;
        std::int64_t until_ms;
    };

    static bool is_over(const entry& e) { return e.until_ms <= sys::wall_ms(); }

    void drop(const std::string& key) {
        auto it = index_.find(key);
        if (it == index_.end()) return;
        bytes_ -= it->second->key.size() + it->second->value.size();
        order_.erase(it->second);
        index_.erase(it);
    }

    memory_bounds bounds_;
    std::list<entry> order_;
    std::unordered_map<std::string, std::list<entry>::iterator> index_;
    std::size_t bytes_ = 0;
};

} // namespace

std::unique_ptr<store> make_memory_store(memory_bounds bounds) {
    return std::make_unique<memory_store>(bounds);
}

} // namespace sluice::state
