// The events of one stream in the order of their positions: taken in at the end, let go mostly at
// the front. Empty it holds no memory, as most streams of idle sessions are. A pointer to an event
// is good until the next push or erase.
#pragma once

#include "session/event.hpp"

#include <cstddef>
#include <utility>
#include <vector>

namespace sluice::session {

class event_log {
public:
    using iterator = std::vector<event>::iterator;

    iterator begin() { return items_.begin() + static_cast<std::ptrdiff_t>(gone_); }
    iterator end() { return items_.end(); }
    auto begin() const { return items_.begin() + static_cast<std::ptrdiff_t>(gone_); }
    auto end() const { return items_.end(); }
    std::size_t size() const { return items_.size() - gone_; }
    bool empty() const { return size() == 0; }
    event& operator[](std::size_t index) { return items_[gone_ + index]; }
    event& back() { return items_.back(); }

    void push_back(event e) { items_.push_back(std::move(e)); }
    void erase(std::size_t index) {
        if (index != 0) {
            items_.erase(begin() + static_cast<std::ptrdiff_t>(index));
            return;
        }
        items_[gone_++].bytes = {};
        // Half of it is gone: moving the rest costs no more than what made the gap.
        if (2 * gone_ < items_.size()) return;
        items_.erase(items_.begin(), begin());
        gone_ = 0;
        if (items_.empty()) items_.shrink_to_fit();
    }

private:
    std::vector<event> items_;
    std::size_t gone_ = 0; // how many at the front have left
};

} // namespace sluice::session
