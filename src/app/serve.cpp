#include "app/serve.hpp"

#include "app/allocator.hpp"
#include "app/config.hpp"
#include "app/runtime.hpp"
#include "sys/log.hpp"

#include <boost/asio/signal_set.hpp>

#include <cstdio>
#include <sys/resource.h>

namespace sluice::app {

namespace {

// Ten thousand open streams need as many descriptors; the soft limit is often 1024.
void raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return;
    limit.rlim_cur = limit.rlim_max;
    if (::setrlimit(RLIMIT_NOFILE, &limit) == 0) return;
    sys::log_line(sys::log_level::warn, "limit").field("text", "RLIMIT_NOFILE could not be raised");
}

void say(const std::string& line) {
    std::fputs((line + "\n").c_str(), stdout);
    std::fflush(stdout);
}

aio::task<> drain(runtime& gateway, bool& drained) {
    co_await aio::keep_running_when_cancelled();
    co_await gateway.drain();
    drained = true;
}

void reload_on(boost::asio::signal_set& renewing, runtime& gateway) {
    renewing.async_wait([&](const aio::error_code& error, int) {
        if (error) return;
        gateway.reload("SIGHUP");
        reload_on(renewing, gateway);
    });
}

void finish(aio::loop& loop, const bool& drained) {
    while (!drained)
        loop.run_one();
    loop.poll(); // the completions of what ended last
}

} // namespace

int serve(const std::string& config_file) {
    keep_more_blocks_at_hand();
    auto loaded = load_config(config_file);
    if (!loaded.ok()) {
        std::fputs(render(loaded.problems).c_str(), stderr);
        return 2;
    }
    sys::configure_log(loaded.values.log);
    raise_descriptor_limit();
    aio::on_child_crash([](std::string_view room, std::string_view what) {
        sys::log_line(sys::log_level::error, "crash").field("room", room).field("what", what);
    });
    aio::loop loop(1);
    runtime gateway(loop, std::move(loaded.values), config_file);
    // From here on it is no reason to end, whenever it comes.
    boost::asio::signal_set renewing(loop, SIGHUP);
    aio::nursery closing(loop.get_executor(), "app");
    bool drained = false;
    auto started = gateway.start();
    if (!started) {
        std::fputs(("sluice: " + started.error().message + "\n").c_str(), stderr);
        auto job = drain(gateway, drained); // one listener may stand already
        closing.spawn(std::move(job));
        finish(loop, drained);
        return 1;
    }
    boost::asio::signal_set signals(loop, SIGTERM, SIGINT);
    signals.async_wait([&](const aio::error_code& error, int) {
        if (error) return;
        auto job = drain(gateway, drained);
        closing.spawn(std::move(job));
        // A second Ctrl-C ends the process at once: the person means it. SIGTERM may come twice by
        // itself, from a supervisor and through its process group.
        signals.remove(SIGINT);
    });
    reload_on(renewing, gateway);
    // Only now: who reads the lines may send a signal at once.
    say("listening on " + gateway.endpoint());
    if (!gateway.admin_address().empty()) say("admin on " + gateway.admin_address());
    finish(loop, drained);
    return 0;
}

} // namespace sluice::app
