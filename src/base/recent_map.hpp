// A map with a bound: what was not used for longest goes when it is full. For what can be found out
// again. Pointers stay good until the entry goes.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <utility>

namespace sluice::base {

template <class Key, class Value>
class recent_map {
public:
    explicit recent_map(std::size_t most) : most_(most) {}

    // Null when it is not there. Looking is using.
    Value* find(const Key& key) {
        auto it = places_.find(key);
        if (it == places_.end()) return nullptr;
        order_.splice(order_.begin(), order_, it->second);
        return &it->second->second;
    }

    void put(const Key& key, Value value) {
        if (auto* there = find(key)) {
            *there = std::move(value);
            return;
        }
        order_.emplace_front(key, std::move(value));
        places_.emplace(key, order_.begin());
        if (order_.size() <= most_) return;
        places_.erase(order_.back().first);
        order_.pop_back();
    }

    template <class Wanted>
    void erase_if(Wanted wanted) {
        for (auto it = order_.begin(); it != order_.end();) {
            if (!wanted(it->first)) {
                ++it;
                continue;
            }
            places_.erase(it->first);
            it = order_.erase(it);
        }
    }

    std::size_t size() const { return order_.size(); }

private:
    using entries = std::list<std::pair<Key, Value>>;

    std::size_t most_;
    entries order_; // newest use first
    std::map<Key, typename entries::iterator> places_;
};

} // namespace sluice::base
