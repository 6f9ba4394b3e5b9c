#include "aio/nursery.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>

#include <cstdlib>
#include <exception>

namespace sluice::aio {

namespace {

crash_hook& hook() {
    static crash_hook current;
    return current;
}

void report(std::string_view room, const std::exception_ptr& error) {
    if (!error || !hook()) return;
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& e) {
        hook()(room, e.what());
    } catch (...) {
        hook()(room, "an exception that is no std::exception");
    }
}

} // namespace

void on_child_crash(crash_hook h) {
    hook() = std::move(h);
}

nursery::~nursery() {
    if (!children_.empty()) std::abort();
}

void nursery::spawn(task<> job) {
    auto child = children_.emplace(children_.end());
    auto done = [this, child](const std::exception_ptr& error) {
        report(room_, error);
        children_.erase(child);
        if (children_.empty()) idle_.cancel();
    };
    asio::co_spawn(
        ex_, std::move(job), asio::bind_cancellation_slot(child->slot(), std::move(done))
    );
    if (stopping_) child->emit(asio::cancellation_type::terminal);
}

void nursery::stop() {
    stopping_ = true;
    for (auto child = children_.begin(); child != children_.end();) {
        auto next = std::next(child); // the child may end, and be erased, inside emit
        child->emit(asio::cancellation_type::terminal);
        child = next;
    }
}

task<> nursery::join() {
    // A cancel ends one wait; the next must neither throw nor forget the cancel.
    bool throwing = co_await asio::this_coro::throw_if_cancelled();
    co_await asio::this_coro::throw_if_cancelled(false);
    while (!children_.empty())
        co_await idle_.async_wait(nothrow);
    co_await asio::this_coro::throw_if_cancelled(throwing);
}

} // namespace sluice::aio
