// within(): one operation under a deadline, the loser cancelled and joined. For rare waits (a
// connect, a shutdown); hot paths use aio::deadlines. Costs about 1.4 µs.
#pragma once

#include "aio/task.hpp"
#include "base/result.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/this_coro.hpp>

namespace sluice::aio {

// The operation's result, errc::timeout, or errc::cancelled when the caller was cancelled before
// either. The operation sees a terminal cancel and must end soon.
template <class T>
task<base::result<T>> within(duration limit, task<base::result<T>> operation) {
    auto ex = co_await asio::this_coro::executor;
    timer clock_timer(ex);
    clock_timer.expires_after(limit);
    auto work = asio::co_spawn(ex, std::move(operation), asio::deferred);
    auto race = asio::experimental::make_parallel_group(
        std::move(work), clock_timer.async_wait(asio::deferred)
    );
    auto [order, error, value, timer_error] =
        co_await race.async_wait(asio::experimental::wait_for_one(), awaiting());
    if (order[0] == 1 && !timer_error)
        co_return base::fault(base::errc::timeout, "the deadline passed");
    // A caller's cancel ends both; which of them comes first, and how the operation says it, is
    // chance.
    auto state = co_await asio::this_coro::cancellation_state;
    bool cancelled = state.cancelled() != asio::cancellation_type::none;
    if (cancelled && (error || order[0] == 1)) {
        co_return base::fault(base::errc::cancelled, "cancelled while waiting");
    }
    if (error) std::rethrow_exception(error);
    co_return std::move(value);
}

// Sleeps; returns early when the coroutine is cancelled.
inline task<> pause(duration length) {
    auto ex = co_await asio::this_coro::executor;
    timer t(ex);
    t.expires_after(length);
    co_await t.async_wait(nothrow);
}

} // namespace sluice::aio
