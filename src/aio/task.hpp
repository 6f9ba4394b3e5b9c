// The coroutine vocabulary of every room from here up: one loop, one executor type, tokens that
// never throw. A concrete executor keeps awaits free of type erasure.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>

#include <chrono>

namespace sluice::aio {

namespace asio = boost::asio;
using error_code = boost::system::error_code;
using loop = asio::io_context;
using executor = loop::executor_type;

template <class T = void>
using task = asio::awaitable<T, executor>;

using awaiting = asio::use_awaitable_t<executor>;
inline constexpr asio::as_tuple_t<awaiting> nothrow{awaiting{}};

using clock = std::chrono::steady_clock;
using instant = clock::time_point;
using duration = clock::duration;
using timer = asio::basic_waitable_timer<clock, asio::wait_traits<clock>, executor>;

inline constexpr instant never = instant::max();

} // namespace sluice::aio
