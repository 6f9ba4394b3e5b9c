#include "upstream/stdio_server.hpp"

#include "aio/within.hpp"
#include "sys/random.hpp"

#include <algorithm>

namespace sluice::upstream {

namespace {

// A process that has lived this long was not broken from the start: its successor need not wait.
constexpr auto long_life = std::chrono::seconds(10);

} // namespace

stdio_server::stdio_server(std::shared_ptr<core> shared, stdio_settings settings)
    : core_(std::move(shared)), stdio_(std::move(settings)),
      started_(core_->around.loop.get_executor()) {}

aio::task<stdio_server::opened> stdio_server::open(open_request request) {
    auto latest = aio::clock::now() + core_->settings.initialize_timeout;
    request.until = std::min(request.until, latest);
    if (core_->settings.isolation_per_session) return start_one(std::move(request), true);
    return open_shared(std::move(request));
}

// One process, one start at a time; who comes meanwhile waits for that start.
aio::task<stdio_server::opened> stdio_server::open_shared(open_request request) {
    while (starting_) {
        co_await started_.wait();
        if (!starting_ && !shared_) co_return last_;
    }
    if (shared_ && shared_->usable()) co_return std::shared_ptr<link>(shared_);
    bool died = shared_ != nullptr;
    if (died && aio::clock::now() - shared_->started() > long_life) early_deaths_ = 0;
    shared_.reset();
    starting_ = true;
    // It speaks for no host in particular.
    open_request own;
    own.until = request.until;
    if (died) ++core_->numbers.restarts;
    auto made = co_await start_one(std::move(own), false);
    starting_ = false;
    if (!made) last_ = made.error();
    if (made) shared_ = std::static_pointer_cast<stdio_process>(*made);
    started_.wake_all();
    co_return made;
}

aio::task<base::result<void>> stdio_server::wait_turn(aio::instant until) {
    auto now = aio::clock::now();
    if (not_before_ > until) {
        co_return base::fault(base::errc::unreachable, "it keeps ending; the next start is later");
    }
    if (not_before_ > now) co_await aio::pause(not_before_ - now);
    auto admitted = core_->admit();
    if (!admitted) co_return admitted;
    auto wait = backoff(stdio_.restart_min, stdio_.restart_max, early_deaths_);
    not_before_ = aio::clock::now() + jittered(wait, sys::random_u64());
    ++early_deaths_; // taken back when a process has lived long
    co_return base::result<void>();
}

aio::task<stdio_server::opened> stdio_server::start_one(open_request request, bool isolated) {
    if (!isolated) {
        auto turn = co_await wait_turn(request.until);
        if (!turn) co_return turn.error();
    } else {
        auto admitted = core_->admit();
        if (!admitted) co_return admitted.error();
    }
    auto process = std::make_shared<stdio_process>(core_, stdio_, isolated);
    std::erase_if(running_, [](const auto& one) { return one.expired(); });
    running_.push_back(process);
    auto started = co_await process->start(std::move(request));
    if (!started) {
        auto why = started.error();
        if (why.code == base::errc::closed) why.code = base::errc::unreachable;
        core_->note(why);
        core_->report("initialize", why);
        co_return why;
    }
    core_->note_success();
    co_return std::shared_ptr<link>(std::move(process));
}

server_status stdio_server::status() const {
    auto out = core_->numbers;
    out.circuit = core_->health.state();
    out.consecutive_failures = core_->health.failures();
    return out;
}

aio::task<> stdio_server::shut_down() {
    core_->stopped = true;
    auto all = std::move(running_);
    running_.clear();
    for (auto& one : all) {
        auto process = one.lock();
        if (process) co_await process->end();
    }
    core_->helpers.stop();
    co_await core_->helpers.join();
}

} // namespace sluice::upstream
