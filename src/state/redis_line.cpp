#include "state/redis_line.hpp"

#include "sys/random.hpp"

#include <algorithm>

namespace sluice::state {

using base::result;

aio::duration redis_backoff(unsigned failures) {
    auto most = std::min<std::uint64_t>(50ULL << std::min(failures, 6U), 2'000);
    auto length = most - sys::random_u64() % (most / 2 + 1);
    return std::chrono::milliseconds(length);
}

redis_line::redis_line(redis_surroundings& around, redis_finder find)
    : around_(around), work_(around.loop.get_executor()), idle_(around.loop.get_executor()),
      find_(std::move(find)), writer_(around.loop.get_executor(), "state"),
      runner_(around.loop.get_executor(), "state") {}

redis_line::~redis_line() = default;

void redis_line::lost(const base::fault& /*why*/) {}
void redis_line::ended() {}

void redis_line::start() {
    uptime_.begin();
    auto job = run();
    runner_.spawn(std::move(job));
}

aio::task<> redis_line::shut_down() {
    runner_.stop();
    if (link_) link_->cancel();
    idle_.wake();
    co_await runner_.join();
    ended();
}

aio::task<> redis_line::run() {
    co_await aio::keep_running_when_cancelled();
    unsigned failures = 0;
    while (!runner_.stopping()) {
        link_ = std::make_unique<redis_link>(around_);
        auto connected = co_await connect();
        base::fault why;
        if (runner_.stopping()) break;
        if (connected) {
            failures = 0;
            stands();
            writing_ = true;
            auto job = write_loop();
            writer_.spawn(std::move(job));
            why = co_await read_loop();
        } else {
            why = std::move(connected.error());
        }
        if (!runner_.stopping()) fell(why);
        writing_ = false;
        link_->cancel();
        work_.wake();
        co_await writer_.join();
        link_.reset();
        lost(why);
        co_await rest(redis_backoff(failures++));
    }
    uptime_.end();
    link_.reset();
}

aio::task<result<void>> redis_line::connect() {
    auto until = aio::clock::now() + around_.settings.timeout;
    auto at = co_await find_(until);
    if (!at) co_return at.error();
    auto opened = co_await link_->open(*at, until);
    if (!opened) co_return opened;
    co_return co_await prepare(until);
}

aio::task<result<void>> redis_line::prepare(aio::instant /*until*/) {
    co_return result<void>();
}

aio::task<> redis_line::write_loop() {
    co_await aio::keep_running_when_cancelled();
    while (writing_) {
        auto bytes = next_bytes();
        if (bytes.empty()) {
            co_await work_.wait();
            continue;
        }
        auto wrote = co_await link_->write(std::move(bytes));
        if (wrote) continue;
        link_->cancel(); // the reader tells why
        co_return;
    }
}

aio::task<> redis_line::rest(aio::duration length) {
    auto until = aio::clock::now() + length;
    if (!runner_.stopping()) co_await idle_.wait(until);
}

} // namespace sluice::state
