#include "aio/deadlines.hpp"

namespace sluice::aio {

deadlines::deadlines(executor ex, duration tick) : timer_(ex), tick_(tick) {}

deadlines::~deadlines() { *alive_ = false; }

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
}

void deadlines::guard::disarm() {
    if (owner_ == nullptr) return;
    owner_->entries_.erase(it_);
    owner_ = nullptr;
}

deadlines::guard deadlines::arm(instant at, std::function<void()> action) {
    auto it = entries_.insert(entries_.end(), entry{at, std::move(action), false});
    if (!ticking_) schedule();
    return {this, it};
}

void deadlines::schedule() {
    ticking_ = true;
    timer_.expires_after(tick_);
    timer_.async_wait([this, alive = alive_](const error_code& error) {
        if (!*alive) return;
        ticking_ = false;
        if (!error) sweep();
    });
}

void deadlines::sweep() {
    auto now = clock::now();
    // Actions only cancel waits, whose handlers run later from the loop: the list cannot change here.
    for (auto& e : entries_) {
        if (e.fired || e.at > now) continue;
        e.fired = true;
        e.action();
    }
    if (!entries_.empty()) schedule();
}

}  // namespace sluice::aio
