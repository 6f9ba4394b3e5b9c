// Runs one coroutine on a real loop and rethrows what it threw, so that REQUIRE works inside it.
// A body that does not end within patience is a failure, not a hang.
#pragma once

#include "aio/nursery.hpp"
#include "aio/task.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <doctest/doctest.h>

#include <chrono>
#include <exception>

namespace sluice::aio::test {

inline constexpr auto patience = std::chrono::seconds(10);

inline void run(loop& on, task<> body) {
    std::exception_ptr failure;
    bool done = false;
    asio::co_spawn(on, std::move(body), [&](std::exception_ptr error) {
        failure = std::move(error);
        done = true;
        on.stop();
    });
    on.run_for(patience);
    on.restart();
    if (failure) std::rethrow_exception(failure);
    REQUIRE_MESSAGE(done, "the test body hangs");
}

// Lets everything that is ready run: each turn goes to the end of the loop's queue.
inline task<> settle() {
    auto ex = co_await asio::this_coro::executor;
    for (int turn = 0; turn < 20; ++turn)
        co_await asio::post(ex, awaiting());
}

inline instant soon() {
    return clock::now() + std::chrono::milliseconds(3);
}
inline instant late() {
    return clock::now() + patience;
}

} // namespace sluice::aio::test
