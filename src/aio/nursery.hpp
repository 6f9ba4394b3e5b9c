// A nursery launches coroutines and joins them: the only place that calls co_spawn.
// stop() asks every child to end (terminal cancellation); join() waits until none is left.
// Destroying a nursery that still has children is a bug and aborts.
#pragma once

#include "aio/task.hpp"

#include <boost/asio/cancellation_signal.hpp>

#include <cstdint>
#include <functional>
#include <list>
#include <string_view>

namespace sluice::aio {

class nursery {
public:
    // `room` names the owner in the log line of a child that ended with an exception.
    nursery(executor ex, std::string_view room) : ex_(ex), room_(room), idle_(ex) {
        idle_.expires_at(never);
    }
    nursery(const nursery&) = delete;
    nursery& operator=(const nursery&) = delete;
    ~nursery();

    void spawn(task<> job);
    void stop();
    // A joiner that is cancelled still joins, and knows afterwards that it was. Several may join.
    task<> join();
    std::size_t size() const { return children_.size(); }
    bool stopping() const { return stopping_; }
    executor get_executor() const { return ex_; }

private:
    executor ex_;
    std::string_view room_;
    std::list<asio::cancellation_signal> children_;
    timer idle_;
    bool stopping_ = false;
};

// Called with (room, what) for every child that ended with an exception; the app sets it once.
using crash_hook = std::function<void(std::string_view room, std::string_view what)>;
void on_child_crash(crash_hook hook);

// First line of every launched coroutine: later awaits must not throw after a cancel, so that
// clean-up can run; is_cancelled() tells.
inline auto keep_running_when_cancelled() {
    return asio::this_coro::throw_if_cancelled(false);
}

} // namespace sluice::aio
