#include "aio/deadlines.hpp"

#include <algorithm>

namespace sluice::aio {

deadlines::deadlines(executor ex, duration tick) : timer_(ex), tick_(tick) {}

deadlines::~deadlines() {
    *alive_ = false;
}

deadlines::guard& deadlines::guard::operator=(guard&& other) noexcept {
    if (this == &other) return *this;
    disarm();
    owner_ = std::exchange(other.owner_, nullptr);
    it_ = other.it_;
    return *this;
}

void deadlines::guard::move_to(instant at) {
    if (owner_ == nullptr) return;
    it_->at = at;
    it_->fired = false;
    owner_->expect(at);
}

void deadlines::guard::disarm() {
    if (owner_ == nullptr) return;
    owner_->entries_.erase(it_);
    if (owner_->entries_.empty()) owner_->rest();
    owner_ = nullptr;
}

deadlines::guard deadlines::arm(instant at, std::function<void()> action) {
    auto it = entries_.insert(entries_.end(), entry{at, std::move(action), false});
    expect(at);
    return {this, it};
}

void deadlines::rest() {
    // A loop that has nothing else to do may end: a wait that stands would keep it.
    if (next_sweep_ == never) return;
    next_sweep_ = never;
    timer_.cancel();
}

void deadlines::expect(instant at) {
    if (at == never) return;
    // Never sooner than a tick: many deadlines close together are one sweep.
    auto when = std::max(at, clock::now() + tick_);
    if (when >= next_sweep_) return;
    next_sweep_ = when;
    timer_.expires_at(when); // an earlier wait is cancelled by this
    timer_.async_wait([this, alive = alive_](const error_code& error) {
        if (!*alive || error) return;
        next_sweep_ = never;
        sweep();
    });
}

void deadlines::sweep() {
    auto now = clock::now();
    auto earliest = never;
    // Actions only cancel waits, whose handlers run later from the loop: the list cannot change
    // here.
    for (auto& e : entries_) {
        if (e.fired) continue;
        if (e.at > now) {
            earliest = std::min(earliest, e.at);
            continue;
        }
        e.fired = true;
        e.action();
    }
    expect(earliest);
}

} // namespace sluice::aio
