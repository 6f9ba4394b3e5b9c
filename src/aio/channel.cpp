#include "aio/channel.hpp"

namespace sluice::aio {

task<bool> signal_flag::wait(instant until) {
    if (!raised_) {
        timer_.expires_at(until);
        waiting_ = true;
        co_await timer_.async_wait(nothrow);
        waiting_ = false;
    }
    co_return std::exchange(raised_, false);
}

base::fault nothing_came(instant until) {
    if (clock::now() < until) return {base::errc::cancelled, "the wait was cancelled"};
    return {base::errc::timeout, "nothing came in time"};
}

} // namespace sluice::aio
