// signal_flag and channel<T>: how coroutines of one loop hand things to each other.
// Boost 1.81's channels lose buffered items on close; these do not: close, then drain.
// One reader at a time; any number of writers. Neither may outlive its loop.
#pragma once

#include "aio/task.hpp"
#include "base/result.hpp"

#include <deque>
#include <optional>
#include <utility>

namespace sluice::aio {

// A waiting place for one coroutine: wake() makes a present or the next wait() return.
class signal_flag {
public:
    explicit signal_flag(executor ex) : timer_(ex) {}

    void wake() {
        raised_ = true;
        if (waiting_) timer_.cancel();
    }

    // Returns true when woken, false when `until` passed or the coroutine was cancelled.
    task<bool> wait(instant until = never);

private:
    timer timer_;
    bool raised_ = false;
    bool waiting_ = false;
};

// Why a wait ended without being woken: its time came, or its coroutine was cancelled before.
base::fault nothing_came(instant until);

template <class T>
class channel {
public:
    channel(executor ex, std::size_t capacity) : capacity_(capacity), flag_(ex) {}

    // False when full or closed; the item is then untouched.
    bool push(T&& item) {
        if (closed_ || items_.size() >= capacity_) return false;
        items_.push_back(std::move(item));
        flag_.wake();
        return true;
    }
    bool push(const T& item) {
        T copy(item);
        return push(std::move(copy));
    }

    // No more pushes; what is buffered can still be popped, then pop returns the reason.
    void close(base::fault why = {base::errc::closed, "closed"}) {
        if (closed_) return;
        closed_ = std::move(why);
        flag_.wake();
    }

    bool is_closed() const { return closed_.has_value(); }
    std::size_t size() const { return items_.size(); }
    bool empty() const { return items_.empty(); }

    // The next item; else errc::timeout at `until`, errc::cancelled when the reader was cancelled,
    // or the reason of close(). A loop that goes on after a timeout must not go on after a cancel.
    task<base::result<T>> pop(instant until = never) {
        for (;;) {
            if (!items_.empty()) {
                T item = std::move(items_.front());
                items_.pop_front();
                co_return item;
            }
            if (closed_) co_return *closed_;
            bool woken = co_await flag_.wait(until);
            if (!woken && items_.empty() && !closed_) co_return nothing_came(until);
        }
    }

private:
    std::size_t capacity_;
    std::deque<T> items_;
    std::optional<base::fault> closed_;
    signal_flag flag_;
};

} // namespace sluice::aio
