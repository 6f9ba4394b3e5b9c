#include "base/text.hpp"
#include "net/child.hpp"
#include "net/fork_exec.hpp"
#include "sys/random.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <set>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace sluice::net {

namespace {

constexpr int grace_ms = 500; // between SIGTERM and SIGKILL when we are gone
constexpr int look_ms = 10;
constexpr int most_sweeps = 50; // of what forks while it is killed

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
        // The mark comes first: what escapes from now on can be known by it.
        if (groups_.empty()) send("=" + mark_ + "\n");
        groups_.insert(group);
        tell('+', group);
    }
    void remove(int group) override {
        groups_.erase(group);
        tell('-', group);
    }
    const std::string& mark() const override { return mark_; }

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
        std::string all = "=" + mark_ + "\n";
        for (int one : groups_)
            all += "+" + std::to_string(one) + "\n";
        send(all);
    }

    owned_fd line_;
    int pid_ = -1;
    std::set<int> groups_;
    const std::string mark_ = "SLUICE_CHILD_OF=" + sys::random_id();
};

struct charges {
    std::set<int> groups;
    std::string mark; // empty: there never was a child
};

std::string contents(const std::string& path) {
    owned_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::string all;
    char space[4096];
    for (ssize_t got = 0; file.get() >= 0 && (got = ::read(file.get(), space, sizeof space)) > 0;)
        all.append(space, static_cast<std::size_t>(got));
    return all;
}

// Processes whose environment holds the mark: our children's own, wherever they went.
std::vector<int> marked(const std::string& mark) {
    std::vector<int> found;
    if (mark.empty()) return found;
    std::unique_ptr<DIR, int (*)(DIR*)> all(::opendir("/proc"), ::closedir);
    while (auto* entry = all ? ::readdir(all.get()) : nullptr) {
        std::string_view name = entry->d_name;
        int pid = 0;
        auto read = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (read.ptr != name.data() + name.size() || pid <= 1) continue;
        auto variables = contents("/proc/" + std::string(name) + "/environ");
        if (('\0' + variables).find('\0' + mark + '\0') != variables.npos) found.push_back(pid);
    }
    return found;
}

void apply(std::string_view line, charges& left) {
    auto& groups = left.groups;
    if (line.size() < 2) return;
    if (line.front() == '=') left.mark = line.substr(1);
    auto number = base::parse_unsigned(line.substr(1));
    if (!number || *number <= 1 || *number > 0x7fffffff) return;
    int group = static_cast<int>(*number);
    if (line.front() == '+') groups.insert(group);
    if (line.front() == '-') groups.erase(group);
}

void pause_a_little() {
    timespec little{0, look_ms * 1'000'000};
    ::nanosleep(&little, nullptr);
}

void end_groups(std::set<int>& groups) {
    for (int group : groups)
        ::kill(-group, SIGTERM);
    for (int waited = 0; waited < grace_ms && !groups.empty(); waited += look_ms) {
        pause_a_little();
        std::erase_if(groups, [](int group) { return ::kill(-group, 0) != 0 && errno == ESRCH; });
    }
    for (int group : groups)
        ::kill(-group, SIGKILL);
}

void end_strays(const std::string& mark) {
    auto left = marked(mark);
    for (int waited = 0; waited < grace_ms && !left.empty(); waited += look_ms) {
        pause_a_little();
        left = marked(mark);
    }
    for (int sweep = 0; sweep < most_sweeps && !left.empty(); ++sweep) {
        for (int pid : left)
            ::kill(pid, SIGKILL);
        pause_a_little();
        left = marked(mark);
    }
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
    charges left;
    std::string text;
    char space[4096];
    for (;;) {
        auto got = ::read(0, space, sizeof space);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        text.append(space, static_cast<std::size_t>(got));
        for (auto end = text.find('\n'); end != text.npos; end = text.find('\n')) {
            apply(std::string_view(text).substr(0, end), left);
            text.erase(0, end + 1);
        }
    }
    // Those who left their group get the time that the groups get.
    for (int pid : marked(left.mark))
        ::kill(pid, SIGTERM);
    end_groups(left.groups);
    end_strays(left.mark);
    return 0;
}

} // namespace sluice::net
