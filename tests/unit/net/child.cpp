#include "net/child.hpp"

#include "aio/nursery.hpp"
#include "run.hpp"

#include <csignal>
#include <fstream>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace sluice;
using namespace sluice::net;

namespace {

// Alive and no zombie.
bool lives(int pid) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    if (!std::getline(stat, text)) return false;
    auto after = text.rfind(") ");
    return after != text.npos && text.at(after + 2) != 'Z' && text.at(after + 2) != 'X';
}

aio::task<> until(std::function<bool()> met) {
    auto limit = aio::clock::now() + test::patience;
    while (!met() && aio::clock::now() < limit)
        co_await aio::pause(std::chrono::milliseconds(2));
    CHECK(met());
}

child_settings shell(std::string script) {
    child_settings out;
    out.command = "sh";
    out.args = {"-c", std::move(script)};
    out.environment = {{"PATH", "/usr/bin:/bin"}};
    return out;
}

// Its stdout up to `count` lines.
aio::task<std::vector<std::string>> lines(child& from, std::size_t count) {
    std::string text;
    while (static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) < count) {
        auto piece = co_await from.read_stdout();
        if (!piece || piece->empty()) break;
        text += *piece;
    }
    std::vector<std::string> out;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        out.push_back(line);
    co_return out;
}

struct nursery_of_children {
    aio::loop loop;
    std::unique_ptr<child_guard> guard;

    nursery_of_children() {
        auto started = child_guard::start();
        REQUIRE(started);
        guard = std::move(*started);
    }
    std::unique_ptr<child> spawn(child_settings settings) {
        auto made = spawn_child(loop, *guard, std::move(settings));
        REQUIRE(made);
        return std::move(*made);
    }
};

// Prints its own pid and those of two grandchildren; ignores SIGTERM when told so.
const char* const family = "sleep 1000 & echo $!; (sleep 1000; echo) & echo $!; echo $$; cat";

std::vector<int> numbers(const std::vector<std::string>& texts) {
    std::vector<int> out;
    for (const auto& text : texts)
        out.push_back(std::stoi(text));
    return out;
}

bool all_gone(const std::vector<int>& pids) {
    return std::none_of(pids.begin(), pids.end(), lives);
}

} // namespace

TEST_CASE("a child reads its stdin and writes its stdout and stderr") {
    nursery_of_children n;
    auto body = [](nursery_of_children& n) -> aio::task<> {
        auto it = n.spawn(shell("echo oops >&2; cat"));
        std::string large(300'000, 'x');
        auto sent = co_await it->write("hello\n");
        CHECK(sent.ok());
        auto first = co_await it->read_stdout();
        CHECK(*first == "hello\n");
        auto err = co_await it->read_stderr();
        CHECK(*err == "oops\n");
        co_await it->shut_down(std::chrono::seconds(5));
        CHECK(it->ended());
        CHECK(it->how_it_ended() == "exit status 0");
        auto end = co_await it->read_stdout();
        REQUIRE(end);
        CHECK(end->empty());
        auto late = co_await it->write("x");
        REQUIRE(!late);
        CHECK(late.error().code == base::errc::closed);
        co_await it->shut_down(std::chrono::seconds(5));
    };
    test::run(n.loop, body(n));
}

TEST_CASE("nothing is inherited but what is given") {
    nursery_of_children n;
    auto body = [](nursery_of_children& n) -> aio::task<> {
        ::setenv("SLUICE_TEST_SECRET", "s", 1);
        auto settings = shell("env | sort | grep -v -e ^PWD= -e ^_= -e ^SHLVL=; pwd; ls "
                              "/proc/self/fd | wc -l; ps -o pgid= -p $$ | tr -d ' '; "
                              "grep -c -e 'SigIgn:.*0000$' /proc/self/status");
        settings.environment.emplace_back("GIVEN", "a b=c");
        settings.working_directory = "/usr";
        auto it = n.spawn(std::move(settings));
        auto seen = co_await lines(*it, 7);
        REQUIRE(seen.size() == 7);
        CHECK(seen[0] == "GIVEN=a b=c");
        CHECK(seen[1] == "PATH=/usr/bin:/bin");
        CHECK(seen[2] == n.guard->mark());
        CHECK(seen[3] == "/usr");
        CHECK(seen[4] == "4"); // 0, 1, 2 and the directory that ls reads
        CHECK(seen[5] == std::to_string(it->pid()));
        CHECK(seen[6] == "1"); // SIGPIPE is not ignored there
    };
    test::run(n.loop, body(n));
}

TEST_CASE("large messages of several writers stay whole and in order") {
    nursery_of_children n;
    auto body = [](nursery_of_children& n) -> aio::task<> {
        auto it = n.spawn(shell("cat"));
        aio::nursery crew(n.loop.get_executor(), "test");
        auto writer = [](child& to, char letter) -> aio::task<> {
            auto sent = co_await to.write(std::string(200'000, letter) + "\n");
            CHECK(sent.ok());
        };
        for (char letter : {'a', 'b', 'c'})
            crew.spawn(writer(*it, letter));
        auto seen = co_await lines(*it, 3);
        REQUIRE(seen.size() == 3);
        CHECK(seen[0] == std::string(200'000, 'a'));
        CHECK(seen[1] == std::string(200'000, 'b'));
        CHECK(seen[2] == std::string(200'000, 'c'));
        co_await crew.join();
    };
    test::run(n.loop, body(n));
}

TEST_CASE("a writer that is cancelled leaves no half message behind") {
    nursery_of_children n;
    auto body = [](nursery_of_children& n) -> aio::task<> {
        auto it = n.spawn(shell("exec cat"));
        aio::nursery crew(n.loop.get_executor(), "test");
        auto writer = [](child& to, base::errc& code) -> aio::task<> {
            co_await aio::keep_running_when_cancelled();
            auto sent = co_await to.write(std::string(200'000, 'a') + "\n");
            if (!sent) code = sent.error().code;
        };
        auto code = base::errc::internal;
        ::kill(it->pid(), SIGSTOP); // it reads nothing: the pipe fills
        crew.spawn(writer(*it, code));
        co_await aio::pause(std::chrono::milliseconds(5));
        crew.stop();
        co_await crew.join();
        CHECK(code == base::errc::cancelled);
        auto seen_job = lines(*it, 2);
        aio::nursery more(n.loop.get_executor(), "test");
        ::kill(it->pid(), SIGCONT);
        // Queued behind the rest.
        auto later = [](child& to) -> aio::task<> { (void)co_await to.write("after\n"); };
        more.spawn(later(*it));
        auto seen = co_await std::move(seen_job);
        co_await more.join();
        REQUIRE(seen.size() == 2);
        CHECK(seen[0] == std::string(200'000, 'a'));
        CHECK(seen[1] == "after");
    };
    test::run(n.loop, body(n));
}

TEST_CASE("how a child ended is told, and its group goes with it") {
    nursery_of_children n;
    auto body = [](nursery_of_children& n) -> aio::task<> {
        auto it = n.spawn(shell("sleep 1000 >/dev/null 2>&1 & echo $!; exit 3"));
        auto pids = numbers(co_await lines(*it, 1));
        REQUIRE(pids.size() == 1);
        auto* raw = it.get();
        auto met = [raw] { return raw->ended(); };
        co_await until(met);
        CHECK(it->how_it_ended() == "exit status 3");
        auto all = [pids] { return all_gone(pids); };
        co_await until(all);
        auto other = n.spawn(shell("cat"));
        other->kill_group();
        auto* second = other.get();
        auto killed = [second] { return second->ended(); };
        co_await until(killed);
        CHECK(other->how_it_ended() == "signal 9");
    };
    test::run(n.loop, body(n));
}

TEST_CASE("shutting down climbs from closing stdin over SIGTERM to SIGKILL") {
    nursery_of_children n;
    auto body = [](nursery_of_children& n) -> aio::task<> {
        auto step = std::chrono::milliseconds(60);
        auto polite = n.spawn(shell("cat >/dev/null; exit 7"));
        co_await polite->shut_down(std::chrono::seconds(5));
        CHECK(polite->how_it_ended() == "exit status 7");

        auto deaf = n.spawn(shell("trap 'exit 8' TERM; echo up; while :; do sleep 0.01; done"));
        co_await lines(*deaf, 1);
        co_await deaf->shut_down(std::chrono::seconds(1));
        CHECK(deaf->how_it_ended() == "exit status 8");

        auto stubborn = n.spawn(shell("trap '' TERM; echo up; while :; do sleep 0.01; done"));
        co_await lines(*stubborn, 1);
        co_await stubborn->shut_down(step);
        CHECK(stubborn->how_it_ended() == "signal 9");
    };
    test::run(n.loop, body(n));
}

TEST_CASE("destroying a child kills its whole group") {
    nursery_of_children n;
    auto body = [](nursery_of_children& n) -> aio::task<> {
        auto it = n.spawn(shell(family));
        auto pids = numbers(co_await lines(*it, 3));
        REQUIRE(pids.size() == 3);
        for (int pid : pids)
            CHECK(lives(pid));
        it.reset();
        auto met = [pids] { return all_gone(pids); };
        co_await until(met);
    };
    test::run(n.loop, body(n));
}

TEST_CASE("what cannot be run is unreachable, and says why") {
    nursery_of_children n;
    child_settings missing;
    missing.command = "no-such-command-anywhere";
    auto got = spawn_child(n.loop, *n.guard, missing);
    REQUIRE(!got);
    CHECK(got.error().code == base::errc::unreachable);
    auto bad_directory = shell("true");
    bad_directory.working_directory = "/no/such/directory";
    CHECK(!spawn_child(n.loop, *n.guard, bad_directory));
    CHECK(find_command("sh").value_or("").ends_with("/sh"));
    CHECK(find_command("/bin/sh") == "/bin/sh");
    CHECK(!find_command("./sh"));
    CHECK(!find_command("/etc/passwd"));
    CHECK(!find_command("/tmp"));
}

namespace {

// The guard is the one child of ours that leads its own session.
int guard_of_ours() {
    std::ifstream children("/proc/self/task/" + std::to_string(::getpid()) + "/children");
    for (int pid = 0; children >> pid;) {
        if (::getsid(pid) == pid) return pid;
    }
    return 0;
}

aio::task<> tell(child& about, int to) {
    auto seen = co_await lines(about, 3);
    std::string text;
    for (const auto& line : seen)
        text += line + " ";
    [[maybe_unused]] auto sent = ::write(to, text.data(), text.size());
}

// A process of its own: guards two families, tells their pids, and waits to be killed.
[[noreturn]] void guard_two_families(int to, bool kill_guard_between) {
    ::alarm(60);
    aio::loop loop;
    auto guard = child_guard::start();
    if (!guard) ::_exit(1);
    std::vector<std::unique_ptr<child>> families;
    for (int i = 0; i < 2; ++i) {
        auto made = spawn_child(loop, **guard, shell(std::string("trap '' TERM HUP; ") + family));
        if (!made) ::_exit(1);
        families.push_back(std::move(*made));
        asio::co_spawn(loop, tell(*families.back(), to), [](std::exception_ptr) {});
        int old = guard_of_ours();
        if (!kill_guard_between || i == 1) continue;
        ::kill(old, SIGKILL);
        while (lives(old))
            ::usleep(1000);
    }
    for (;;)
        loop.run_for(std::chrono::seconds(1));
}

void nothing_is_left_after_kill(bool kill_guard_between) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    int helper = ::fork();
    if (helper == 0) guard_two_families(ends[1], kill_guard_between);
    ::close(ends[1]);
    std::vector<int> pids;
    std::string text;
    char space[200];
    while (std::count(text.begin(), text.end(), ' ') < 6) {
        auto got = ::read(ends[0], space, sizeof space);
        if (got <= 0) break;
        text.append(space, static_cast<std::size_t>(got));
    }
    ::close(ends[0]);
    std::istringstream in(text);
    for (int pid = 0; in >> pid;)
        pids.push_back(pid);
    CHECK(pids.size() == 6);
    for (int pid : pids)
        CHECK(lives(pid));
    ::kill(helper, SIGKILL);
    ::waitpid(helper, nullptr, 0);
    aio::loop loop;
    auto wait = [](std::vector<int> pids) -> aio::task<> {
        auto met = [pids] { return all_gone(pids); };
        co_await until(met);
    };
    test::run(loop, wait(pids));
}

} // namespace

TEST_CASE("after kill -9 nothing of the guarded families is left") {
    nothing_is_left_after_kill(false);
}

TEST_CASE("a guard that was killed is replaced with the next child, and knows the earlier ones") {
    nothing_is_left_after_kill(true);
}
