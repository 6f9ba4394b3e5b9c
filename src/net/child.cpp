#include "net/child.hpp"

#include "aio/channel.hpp"
#include "net/fork_exec.hpp"
#include "net/pipe_writer.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <list>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sluice::net {

namespace {

namespace asio = boost::asio;

std::string described(const siginfo_t& how) {
    if (how.si_code == CLD_EXITED) return "exit status " + std::to_string(how.si_status);
    return "signal " + std::to_string(how.si_status);
}

// The process itself. Kept alive by the wait for its end, so that it is reaped even when its child
// object has gone before.
struct process : std::enable_shared_from_this<process> {
    process(aio::executor ex, child_guard& guard_, int pid_, int pidfd_)
        : pidfd(ex, pidfd_), guard(&guard_), pid(pid_) {}

    void watch() {
        pidfd.async_wait(pipe_end::wait_read, [self = shared_from_this()](const aio::error_code&) {
            self->reap();
        });
    }

    // First the rest of the group, while the zombie still holds its number; then the zombie.
    void reap() {
        if (ended) return;
        siginfo_t how{};
        int got = ::waitid(P_PID, static_cast<id_t>(pid), &how, WEXITED | WNOWAIT | WNOHANG);
        if (got == 0 && how.si_pid == 0) {
            watch();
            return;
        }
        ::kill(-pid, SIGKILL);
        if (guard != nullptr) guard->remove(pid);
        guard = nullptr;
        ::waitpid(pid, nullptr, 0);
        ended = true;
        how_it_ended = got == 0 ? described(how) : "unknown";
        aio::error_code ignored;
        pidfd.close(ignored);
        for (auto* one : waiting)
            one->wake();
        if (on_end) on_end();
    }

    void signal_group(int number) const {
        if (!ended) ::kill(-pid, number);
    }

    pipe_end pidfd;
    child_guard* guard; // null when nothing is left to tell
    int pid;
    bool ended = false;
    std::string how_it_ended;
    std::list<aio::signal_flag*> waiting;
    std::function<void()> on_end; // set while its child object lives
};

// Whether it has ended by then; a cancelled waiter waits on, for its own clean-up depends on it.
aio::task<bool> ended_by(std::shared_ptr<process> it, aio::instant until) {
    aio::signal_flag flag(it->pidfd.get_executor());
    auto place = it->waiting.insert(it->waiting.end(), &flag);
    while (!it->ended && aio::clock::now() < until)
        co_await flag.wait(until);
    it->waiting.erase(place);
    co_return it->ended;
}

class running_child final : public child {
public:
    running_child(aio::executor ex, std::shared_ptr<process> it, int in, int out, int err)
        : process_(std::move(it)), in_(std::make_shared<pipe_writer>(ex, in)), out_(ex, out),
          err_(ex, err), rest_(ex) {
        process_->on_end = [this] { give_up_pipes_soon(); };
        process_->watch();
    }

    ~running_child() override {
        in_->close();
        process_->on_end = {};
        process_->signal_group(SIGKILL);
        if (process_->guard != nullptr) process_->guard->remove(process_->pid);
        process_->guard = nullptr; // it may not outlive us
    }

    int pid() const override { return process_->pid; }
    aio::task<base::result<void>> write(std::string bytes) override {
        return pipe_writer::write(in_, std::move(bytes));
    }
    aio::task<base::result<std::string>> read_stdout() override { return read(out_, out_piece_); }
    aio::task<base::result<std::string>> read_stderr() override { return read(err_, err_piece_); }
    void kill_group() override { process_->signal_group(SIGKILL); }
    bool ended() const override { return process_->ended; }
    std::string how_it_ended() const override { return process_->how_it_ended; }

    aio::task<> shut_down(std::chrono::milliseconds each_step) override {
        auto it = process_;
        in_->close();
        bool done = co_await ended_by(it, aio::clock::now() + each_step);
        if (!done) {
            it->signal_group(SIGTERM);
            done = co_await ended_by(it, aio::clock::now() + each_step);
        }
        if (!done) {
            it->signal_group(SIGKILL);
            co_await ended_by(it, aio::never); // the kernel sees to it
        }
    }

private:
    // What it wrote last is still read; but a process that left its group may hold the pipes for
    // ever.
    void give_up_pipes_soon() {
        rest_.expires_after(std::chrono::milliseconds(500));
        rest_.async_wait([this](const aio::error_code& error) {
            if (error) return; // destroyed
            given_up_ = true;
            out_.cancel();
            err_.cancel();
        });
    }

    aio::task<base::result<std::string>> read(pipe_end& from, std::size_t& piece) {
        if (given_up_) co_return std::string();
        std::string space(piece, '\0');
        auto got = co_await from.async_read_some(asio::buffer(space), aio::nothrow);
        auto& [error, count] = got;
        if (error == asio::error::operation_aborted && !given_up_)
            co_return base::fault(base::errc::cancelled, "cancelled");
        if (error) co_return std::string(); // the end of a pipe, however it is worded
        // A quiet pipe costs little memory, a busy one few reads.
        if (count == piece) piece = std::min<std::size_t>(piece * 4, 64 * 1024);
        if (count < piece / 4) piece = std::max<std::size_t>(piece / 4, 4 * 1024);
        space.resize(count);
        co_return space;
    }

    std::shared_ptr<process> process_;
    std::shared_ptr<pipe_writer> in_;
    pipe_end out_;
    pipe_end err_;
    aio::timer rest_;
    bool given_up_ = false;
    std::size_t out_piece_ = 4 * 1024;
    std::size_t err_piece_ = 4 * 1024;
};

bool is_runnable(const std::string& path) {
    struct stat about{};
    return ::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
           ::access(path.c_str(), X_OK) == 0;
}

} // namespace

std::optional<std::string> find_command(std::string_view name) {
    if (name.empty() || name.find('\0') != name.npos) return std::nullopt;
    if (name.front() == '/') {
        std::string path(name);
        return is_runnable(path) ? std::optional(path) : std::nullopt;
    }
    if (name.find('/') != name.npos) return std::nullopt;
    const char* from = std::getenv("PATH");
    std::string_view dirs = from != nullptr ? from : "/usr/local/bin:/usr/bin:/bin";
    while (!dirs.empty()) {
        auto end = dirs.find(':');
        auto dir = dirs.substr(0, end);
        dirs.remove_prefix(end == dirs.npos ? dirs.size() : end + 1);
        if (!dir.starts_with('/')) continue; // never from where we happen to stand
        std::string path = std::string(dir) + "/" + std::string(name);
        if (is_runnable(path)) return path;
    }
    return std::nullopt;
}

base::result<std::unique_ptr<child>>
spawn_child(aio::loop& loop, child_guard& guard, child_settings settings) {
    auto path = find_command(settings.command);
    if (!path) return base::fault(base::errc::unreachable, "no such command: " + settings.command);
    auto in = make_pipe();
    auto out = make_pipe();
    auto err = make_pipe();
    if (!in || !out || !err)
        return base::fault(base::errc::unreachable, "cannot make the pipes of a child");

    program what;
    what.path = std::move(*path);
    what.arguments = std::move(settings.args);
    what.arguments.insert(what.arguments.begin(), settings.command);
    for (auto& [name, value] : settings.environment)
        what.environment.push_back(std::move(name.append("=").append(value)));
    what.environment.push_back(guard.mark());
    what.directory = std::move(settings.working_directory);
    what.stdin_fd = in->read.get();
    what.stdout_fd = out->write.get();
    what.stderr_fd = err->write.get();
    int group = 0;
    auto pid = fork_exec(what, [&guard, &group](int made) {
        group = made;
        guard.add(made);
    });
    if (!pid) {
        if (group > 0) guard.remove(group);
        return pid.error();
    }
    int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0));
    if (pidfd < 0) {
        ::kill(-*pid, SIGKILL);
        ::waitpid(*pid, nullptr, 0);
        guard.remove(group);
        return base::fault(base::errc::unreachable, "cannot watch a child: out of descriptors");
    }
    auto ex = loop.get_executor();
    auto it = std::make_shared<process>(ex, guard, *pid, pidfd);
    return std::unique_ptr<child>(std::make_unique<running_child>(
        ex, std::move(it), in->write.release(), out->read.release(), err->read.release()
    ));
}

} // namespace sluice::net
