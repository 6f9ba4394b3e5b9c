#include "upstream/stdio_process.hpp"

#include "upstream/room.hpp"
#include "upstream/stdio_gate.hpp"
#include "wire/lines.hpp"

namespace sluice::upstream {

namespace {

// What a process that does not read its stdin may leave waiting.
constexpr std::size_t out_lines = 4096;
constexpr std::size_t out_bytes = 64 * 1024 * 1024;
constexpr std::size_t largest_piece = 64 * 1024; // that net::child reads at once

} // namespace

stdio_process::stdio_process(std::shared_ptr<core> shared, stdio_settings settings, bool isolated)
    : duplex(std::move(shared)), settings_(std::move(settings)), isolated_(isolated),
      out_(core_->around.loop.get_executor(), out_lines), over_(core_->around.loop.get_executor()) {
}

base::result<void> stdio_process::spawn() {
    const auto& server = core_->settings;
    auto allowed = may_spawn(settings_, server.command);
    if (!allowed) return allowed;
    if (core_->around.guard == nullptr)
        return base::fault(base::errc::config, "local processes are not enabled");
    auto& running = *core_->around.children;
    if (settings_.max_processes != 0 && running >= settings_.max_processes)
        return base::fault(
            base::errc::too_many,
            std::to_string(running) +
                " local processes run already, as many as stdio.max_processes allows; try again "
                "when a session has ended"
        );
    net::child_settings what;
    what.command = server.command;
    what.args = server.args;
    what.environment = child_environment(settings_, server, environ);
    auto made = net::spawn_child(core_->around.loop, *core_->around.guard, std::move(what));
    if (!made) {
        auto why = made.error();
        if (why.code != base::errc::config) why.code = base::errc::unreachable;
        return why;
    }
    child_ = std::move(*made);
    ++running;
    ++core_->numbers.connects;
    started_ = aio::clock::now();
    return {};
}

aio::task<base::result<void>> stdio_process::start(open_request request) {
    auto spawned = spawn();
    if (!spawned) {
        ended_ = true;
        co_return spawned;
    }
    auto me = std::static_pointer_cast<stdio_process>(shared_from_this());
    core_->helpers.spawn(write_all(me));
    core_->helpers.spawn(read_all(me));
    core_->helpers.spawn(log_stderr(me));
    auto opened = co_await open_session(std::move(request));
    if (!opened) {
        child_->kill_group();
        co_await end();
    }
    co_return opened;
}

aio::task<> stdio_process::close() {
    if (isolated_) co_await end();
}

aio::task<> stdio_process::end() {
    if (ended_) co_return;
    if (ending_) {
        co_await over_.wait();
        co_return;
    }
    ending_ = true;
    hearers_.clear();
    out_.close();
    lose(base::fault(base::errc::closed, "the process was shut down"));
    co_await child_->shut_down(settings_.shutdown_step);
    ended();
}

void stdio_process::ended() {
    ended_ = true;
    --*core_->around.children;
    over_.wake_all();
}

base::result<void> stdio_process::put(std::string bytes, std::uint64_t) {
    bytes += '\n';
    if (out_bytes_ + bytes.size() > out_bytes)
        return base::fault(base::errc::too_many, "the process does not read its input");
    auto size = bytes.size();
    if (!out_.push(std::move(bytes)))
        return base::fault(base::errc::too_many, "the process does not read its input");
    out_bytes_ += size;
    core_->numbers.bytes_out += size;
    return {};
}

// The one writer of its stdin.
aio::task<> stdio_process::write_all(self me) {
    co_await aio::keep_running_when_cancelled();
    for (;;) {
        auto line = co_await me->out_.pop();
        if (!line) co_return;
        me->out_bytes_ -= line->size();
        auto written = co_await me->child_->write(std::move(*line));
        if (!written) co_return; // its end is seen on stdout
    }
}

aio::task<> stdio_process::read_all(self me) {
    co_await aio::keep_running_when_cancelled();
    const auto most = me->core_->settings.max_message_bytes;
    // It is told of a line that is too long before it gives the line up itself.
    wire::line_splitter lines(most + largest_piece);
    room space(me->core_->around.bodies);
    for (;;) {
        auto piece = co_await me->child_->read_stdout();
        if (!piece || piece->empty()) break;
        me->core_->numbers.bytes_in += piece->size();
        lines.feed(*piece);
        while (auto line = lines.next())
            me->take(std::move(*line), space.hand_over());
        auto size = lines.beginning().size();
        bool fits = size <= most;
        if (fits && space.grow_to(size)) continue;
        me->refuse(lines.beginning(), fits ? no_room() : too_large());
        lines.skip();
        space.hand_over();
    }
    if (me->ending_ || me->ended_) co_return;
    me->ending_ = true;
    me->out_.close();
    // No new call may begin while it is reaped; those in flight are told how it ended.
    me->retire();
    auto step = std::min(me->settings_.shutdown_step, std::chrono::milliseconds(500));
    co_await me->child_->shut_down(step);
    auto how = me->child_->how_it_ended();
    me->core_->say("the process ended: " + how);
    me->lose(base::fault(base::errc::closed, "the process ended (" + how + ")"));
    me->ended();
}

aio::task<> stdio_process::log_stderr(self me) {
    co_await aio::keep_running_when_cancelled();
    wire::line_splitter lines(64 * 1024);
    line_thinner thin;
    for (;;) {
        auto piece = co_await me->child_->read_stderr();
        if (!piece || piece->empty()) co_return;
        lines.feed(*piece);
        if (lines.too_big()) lines = wire::line_splitter(64 * 1024);
        while (auto line = lines.next()) {
            for (const auto& text : thin.take(std::move(*line), aio::clock::now()))
                me->core_->say(text);
        }
    }
}

} // namespace sluice::upstream
