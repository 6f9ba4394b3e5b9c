#include "base/text.hpp"
#include "net/child.hpp"
#include "net/fork_exec.hpp"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <set>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace sluice::net {

namespace {

constexpr int grace_ms = 500; // between SIGTERM and SIGKILL when we are gone
constexpr int look_ms = 10;

class running_guard final : public child_guard {
public:
    ~running_guard() override {
        line_.reset(); // it kills what is left, then ends
        if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
    }

    base::result<void> launch() {
        int ends[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
            return base::fault(base::errc::internal, "cannot make the guard's socket");
        }
        owned_fd theirs(ends[0]);
        owned_fd ours(ends[1]);
        owned_fd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
        program what;
        what.path = "/proc/self/exe";
        what.arguments = {"sluice", "guard-children"};
        what.directory = "/";
        what.stdin_fd = theirs.get();
        what.stdout_fd = what.stderr_fd = nothing.get();
        what.apart = separation::own_session;
        auto pid = fork_exec(what, [](int) {});
        if (!pid) return pid.error();
        pid_ = *pid;
        line_ = std::move(ours);
        return {};
    }

    void add(int group) override {
        groups_.insert(group);
        tell('+', group);
    }
    void remove(int group) override {
        groups_.erase(group);
        tell('-', group);
    }

private:
    bool send(const std::string& text) {
        return ::send(line_.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
               static_cast<ssize_t>(text.size());
    }

    void tell(char what, int group) {
        if (send(what + std::to_string(group) + "\n")) return;
        // Somebody killed the guard: a new one learns all that is alive.
        if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
        pid_ = -1;
        if (!launch()) return;
        std::string all;
        for (int one : groups_)
            all += "+" + std::to_string(one) + "\n";
        send(all);
    }

    owned_fd line_;
    int pid_ = -1;
    std::set<int> groups_;
};

void apply(std::string_view line, std::set<int>& groups) {
    if (line.size() < 2) return;
    auto number = base::parse_unsigned(line.substr(1));
    if (!number || *number <= 1 || *number > 0x7fffffff) return;
    int group = static_cast<int>(*number);
    if (line.front() == '+') groups.insert(group);
    if (line.front() == '-') groups.erase(group);
}

void end_groups(std::set<int>& groups) {
    for (int group : groups)
        ::kill(-group, SIGTERM);
    for (int waited = 0; waited < grace_ms && !groups.empty(); waited += look_ms) {
        timespec little{0, look_ms * 1'000'000};
        ::nanosleep(&little, nullptr);
        std::erase_if(groups, [](int group) { return ::kill(-group, 0) != 0 && errno == ESRCH; });
    }
    for (int group : groups)
        ::kill(-group, SIGKILL);
}

} // namespace

base::result<std::unique_ptr<child_guard>> child_guard::start() {
    // A child that has gone must show as an error of write, not as a signal that ends us.
    struct sigaction now{};
    if (::sigaction(SIGPIPE, nullptr, &now) == 0 && now.sa_handler == SIG_DFL)
        ::signal(SIGPIPE, SIG_IGN);
    auto guard = std::make_unique<running_guard>();
    auto launched = guard->launch();
    if (!launched) return launched.error();
    return std::unique_ptr<child_guard>(std::move(guard));
}

int guard_main() {
    for (int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT})
        ::signal(number, SIG_IGN);
    std::set<int> groups;
    std::string text;
    char space[4096];
    for (;;) {
        auto got = ::read(0, space, sizeof space);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        text.append(space, static_cast<std::size_t>(got));
        for (auto end = text.find('\n'); end != text.npos; end = text.find('\n')) {
            apply(std::string_view(text).substr(0, end), groups);
            text.erase(0, end + 1);
        }
    }
    end_groups(groups);
    return 0;
}

} // namespace sluice::net
