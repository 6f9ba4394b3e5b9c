#include "net/fork_exec.hpp"

#include <climits>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sluice::net {

namespace {

base::fault failed(std::string what, int error) {
    return {base::errc::unreachable, std::move(what) + ": " + std::strerror(error)};
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> out;
    out.reserve(texts.size() + 1);
    for (const auto& text : texts)
        out.push_back(const_cast<char*>(text.c_str()));
    out.push_back(nullptr);
    return out;
}

// Everything the new process needs, made before fork: after it only async-signal-safe calls are
// allowed.
struct plan {
    const program& what;
    std::vector<char*> arguments;
    std::vector<char*> environment;
    int go = -1;     // one byte: begin; end: we are gone
    int go_far = -1; // its writing end
    int report = -1; // errno of what failed
};

void close_others_on_exec() {
    if (::close_range(3, UINT_MAX, CLOSE_RANGE_CLOEXEC) == 0) return;
    for (int fd = 3; fd < 65'536; ++fd)
        ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

void default_signals() {
    struct sigaction action{};
    action.sa_handler = SIG_DFL;
    for (int number = 1; number < NSIG; ++number)
        ::sigaction(number, &action, nullptr);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Onto 0, 1 and 2 by way of high numbers, since a source may itself be one of them.
bool place_streams(const program& what) {
    int high[3] = {what.stdin_fd, what.stdout_fd, what.stderr_fd};
    for (int& fd : high) {
        fd = ::fcntl(fd, F_DUPFD_CLOEXEC, 10);
        if (fd < 0) return false;
    }
    for (int to = 0; to < 3; ++to) {
        if (::dup2(high[to], to) < 0) return false;
    }
    return true;
}

[[noreturn]] void become(const plan& p) {
    if (p.what.apart == separation::own_session) {
        ::setsid();
    } else {
        ::setpgid(0, 0);
    }
    ::close(p.go_far); // else our death would not end the wait
    char byte = 0;
    ssize_t told = 0;
    do
        told = ::read(p.go, &byte, 1);
    while (told < 0 && errno == EINTR);
    if (told != 1) ::_exit(127);
    bool ready = place_streams(p.what);
    if (ready && !p.what.directory.empty()) ready = ::chdir(p.what.directory.c_str()) == 0;
    if (ready) {
        close_others_on_exec();
        default_signals();
        ::execve(p.what.path.c_str(), p.arguments.data(), p.environment.data());
    }
    int error = errno;
    [[maybe_unused]] auto sent = ::write(p.report, &error, sizeof error);
    ::_exit(127);
}

int start(const plan& p) {
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all); // our handlers must not run in the new process
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    int pid = ::fork();
    if (pid == 0) become(p);
    int error = errno;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = error;
    return pid;
}

} // namespace

owned_fd& owned_fd::operator=(owned_fd&& other) noexcept {
    if (this == &other) return *this;
    reset();
    fd_ = other.release();
    return *this;
}

void owned_fd::reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
}

base::result<pipe_ends> make_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return failed("cannot make a pipe", errno);
    pipe_ends out;
    out.read = owned_fd(ends[0]);
    out.write = owned_fd(ends[1]);
    return out;
}

base::result<int> fork_exec(const program& what, const std::function<void(int)>& before_exec) {
    auto go = make_pipe();
    auto report = make_pipe();
    if (!go) return go.error();
    if (!report) return report.error();
    plan p{what, pointers(what.arguments), pointers(what.environment)};
    p.go = go->read.get();
    p.report = report->write.get();
    p.go_far = go->write.get();
    int pid = start(p);
    if (pid < 0) return failed("cannot fork", errno);
    if (what.apart == separation::own_group) ::setpgid(pid, pid); // whoever comes first
    report->write.reset();
    before_exec(pid);
    [[maybe_unused]] auto told = ::write(go->write.get(), "g", 1);
    int error = 0;
    ssize_t got = 0;
    do
        got = ::read(report->read.get(), &error, sizeof error);
    while (got < 0 && errno == EINTR);
    if (got == 0) return pid; // closed by a successful exec
    ::waitpid(pid, nullptr, 0);
    return failed("cannot run " + what.path, error);
}

} // namespace sluice::net
