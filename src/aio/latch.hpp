// A gate for many waiters: wake_all() releases everyone who waits now. For single-flight work.
#pragma once

#include "aio/task.hpp"

namespace sluice::aio {

class latch {
public:
    explicit latch(executor ex) : timer_(ex) { timer_.expires_at(never); }

    void wake_all() { timer_.cancel(); }
    // Returns at the next wake_all(), or when the waiter is cancelled.
    task<> wait() { co_await timer_.async_wait(nothrow); }

private:
    timer timer_;
};

} // namespace sluice::aio
