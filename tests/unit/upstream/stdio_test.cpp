#include "scene.hpp"

#include <algorithm>
#include <csignal>

using namespace sluice;
using namespace sluice::upstream;
using namespace sluice::upstream::test;
using base::errc;

namespace {

// A small server: what a tool does is its name.
const std::string script = R"py(
import sys, json, os, threading
def say(m): print(json.dumps(m, separators=(',', ':')), flush=True)
def note(t, i): say({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":t,"progress":i}})
held = []
if os.environ.get("DIE"): sys.exit(3)
print("up and running", file=sys.stderr, flush=True)
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "notifications/cancelled":
        print("cancelled %s %s" % (m["params"]["requestId"], m["params"].get("reason")), file=sys.stderr, flush=True)
        for h in held: say({"jsonrpc":"2.0","id":h,"result":{"late":True}})
    if "method" not in m:
        print("answer %s" % line.strip(), file=sys.stderr, flush=True)
    if "id" not in m or "method" not in m: continue
    r = {}
    if m["method"] == "initialize":
        r = {"protocolVersion":m["params"]["protocolVersion"],"capabilities":{"tools":{}},"serverInfo":{"name":"p","version":"1"}}
    elif m["method"] == "tools/call":
        name = m["params"]["name"]
        t = m["params"].get("_meta", {}).get("progressToken")
        if name == "hold":
            held.append(m["id"]); continue
        if name == "release":
            for h in held: say({"jsonrpc":"2.0","id":h,"result":{"held":h}})
            held = []
        if name == "noise": print("hello, not JSON\n[1,2]\n\n{\"jsonrpc\":\"2.0\",\"id\":777,\"result\":{}}", flush=True)
        if name == "flood":
            for i in range(10000): note(t, i)
        if name == "ping": say({"jsonrpc":"2.0","id":"q","method":"ping"})
        if name == "ask": say({"jsonrpc":"2.0","id":"q","method":"roots/list"})
        if name == "broken":
            print("{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{},\"result\":{}}" % m["id"], flush=True); continue
        if t is not None and name != "flood": note(t, 1)
        r = {"pid":os.getpid(),"env":sorted(k for k in os.environ if k != "LC_CTYPE")}
    say({"jsonrpc":"2.0","id":m["id"],"result":r})
)py";

struct stdio_scene {
    explicit stdio_scene(server_settings about = {}) {
        auto started = net::child_guard::start();
        REQUIRE(started.ok());
        guard = std::move(*started);
        about.name = "py";
        about.kind = transport::stdio;
        about.command = "python3";
        about.args = {"-c", script};
        stdio.enabled = true;
        stdio.environment = {"PATH", "HOME"};
        stdio.restart_min = std::chrono::milliseconds(10);
        stdio.shutdown_step = std::chrono::milliseconds(500);
        surroundings around{loop, deadlines, guard.get(), [this](auto, std::string_view text) {
                                said.emplace_back(text);
                            }};
        children = around.children;
        under_test = make_server(around, std::move(about), stdio, {});
    }

    void run(std::function<aio::task<>(stdio_scene&)> body) {
        auto all = [](stdio_scene& s,
                      std::function<aio::task<>(stdio_scene&)> inner) -> aio::task<> {
            co_await inner(s);
            co_await s.under_test->shut_down();
        };
        net::test::run(loop, all(*this, std::move(body)));
        CHECK(*children == 0);
    }

    aio::task<base::result<std::shared_ptr<upstream::link>>> try_open() {
        open_request request;
        request.until = soon();
        co_return co_await under_test->open(std::move(request));
    }
    aio::task<std::shared_ptr<upstream::link>> open() {
        auto opened = co_await try_open();
        REQUIRE_MESSAGE(opened.ok(), (opened ? "" : opened.error().message));
        co_return *opened;
    }
    bool has_said(std::string_view text) const {
        return std::ranges::any_of(said, [&](const auto& one) {
            return one.find(text) != one.npos;
        });
    }

    aio::loop loop;
    aio::deadlines deadlines{loop.get_executor()};
    stdio_settings stdio;
    std::unique_ptr<net::child_guard> guard;
    std::vector<std::string> said;
    std::shared_ptr<std::size_t> children;
    std::unique_ptr<server> under_test;
};

outgoing tool(const std::string& name, bool watched = false) {
    std::string meta = watched ? R"(,"_meta":{"progressToken":"host"})" : "";
    return ask(
        R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":")" + name + "\"" + meta +
        "}}"
    );
}

int pid_in(const std::string& response) {
    auto at = response.find("\"pid\":");
    REQUIRE(at != response.npos);
    return std::stoi(response.substr(at + 6));
}

} // namespace

TEST_CASE("stdio: a process is started once, called with progress, and told nothing of ours") {
    server_settings about;
    about.env.emplace("TOKEN", base::secret("t"));
    ::setenv("SLUICE_UNIT_SECRET", "ours", 1);
    stdio_scene s(about);
    s.run([](stdio_scene& s) -> aio::task<> {
        auto link = co_await s.open();
        auto same = co_await s.open();
        CHECK(link == same);
        CHECK(link->peer().revision == "2025-11-25");
        auto got = co_await test::call(*link, tool("t", true));
        CHECK(got.notes == std::vector<std::string>{progress("2", 1)});
        CHECK(got.response.find(R"("TOKEN")") != got.response.npos);
        CHECK(got.response.find("SLUICE_UNIT_SECRET") == got.response.npos);
        CHECK(got.fault.code == errc::closed);
        CHECK(s.has_said("up and running"));
        CHECK(*s.children == 1);
        co_await link->close(); // shared: it goes on
        CHECK(link->usable());
    });
}

TEST_CASE("stdio: answers find their calls in any order") {
    stdio_scene s;
    s.run([](stdio_scene& s) -> aio::task<> {
        auto link = co_await s.open();
        auto a = co_await link->call(tool("hold"));
        auto b = co_await link->call(tool("hold"));
        REQUIRE(a.ok());
        REQUIRE(b.ok());
        auto early = co_await (*a)->next(aio::clock::now() + std::chrono::milliseconds(20));
        CHECK(early.error().code == errc::timeout);
        auto release = co_await test::call(*link, tool("release"));
        CHECK(!release.response.empty());
        auto got_b = co_await listen(**b);
        auto got_a = co_await listen(**a);
        CHECK(got_a.response == R"({"jsonrpc":"2.0","id":2,"result":{"held":2}})");
        CHECK(got_b.response == R"({"jsonrpc":"2.0","id":3,"result":{"held":3}})");
    });
}

TEST_CASE("stdio: a cancelled call is told with our id and its late answer is dropped") {
    stdio_scene s;
    s.run([](stdio_scene& s) -> aio::task<> {
        auto link = co_await s.open();
        auto begun = co_await link->call(tool("hold"));
        REQUIRE(begun.ok());
        (*begun)->interrupt();
        auto got = co_await (*begun)->next(soon());
        CHECK(got.error().code == errc::cancelled);
        co_await (*begun)->cancel("\"enough\"");
        auto done = [&] { return s.under_test->status().late_results == 1; };
        co_await until(done);
        auto said = [&] { return s.has_said("cancelled 2 enough"); };
        co_await until(said);
        auto next = co_await test::call(*link, tool("t"));
        CHECK(!next.response.empty());
    });
}

TEST_CASE("stdio: a process killed in a call fails it with how it ended; the next open starts anew"
) {
    stdio_scene s;
    s.run([](stdio_scene& s) -> aio::task<> {
        auto link = co_await s.open();
        auto first = co_await test::call(*link, tool("t"));
        auto begun = co_await link->call(tool("hold"));
        REQUIRE(begun.ok());
        ::kill(pid_in(first.response), SIGKILL);
        auto got = co_await listen(**begun);
        CHECK(got.fault.code == errc::closed);
        CHECK(got.fault.message.find("signal 9") != std::string::npos);
        CHECK_FALSE(link->usable());
        auto on_dead = co_await test::call(*link, tool("t"));
        CHECK(on_dead.fault.code == errc::unreachable);
        auto again = co_await s.open();
        CHECK(again != link);
        auto second = co_await test::call(*again, tool("t"));
        CHECK(pid_in(second.response) != pid_in(first.response));
        CHECK(s.under_test->status().restarts == 1);
    });
}

TEST_CASE("stdio: noise on stdout is counted, never delivered") {
    stdio_scene s;
    s.run([](stdio_scene& s) -> aio::task<> {
        auto link = co_await s.open();
        auto got = co_await test::call(*link, tool("noise"));
        CHECK(!got.response.empty());
        CHECK(got.notes.empty());
        CHECK(s.under_test->status().stray_messages == 4); // the batch has two
        auto broken = co_await test::call(*link, tool("broken"));
        CHECK(broken.fault.code == errc::protocol);
    });
}

TEST_CASE("stdio: the upstream's ping is answered") {
    stdio_scene s;
    s.run([](stdio_scene& s) -> aio::task<> {
        auto link = co_await s.open();
        auto got = co_await test::call(*link, tool("ping"));
        CHECK(!got.response.empty());
        auto done = [&] { return s.has_said(R"(answer {"jsonrpc":"2.0","id":"q","result":{}})"); };
        co_await until(done);
    });
}

TEST_CASE("stdio: a question goes to the only call there is, and to none when there are two") {
    stdio_scene s;
    s.run([](stdio_scene& s) -> aio::task<> {
        auto link = co_await s.open();
        auto alone = co_await test::call(*link, tool("ask"));
        CHECK(alone.notes.size() == 1);
        auto other = co_await link->call(tool("hold"));
        auto got = co_await test::call(*link, tool("ask"));
        CHECK(got.notes.empty());
        auto done = [&] { return s.has_said(R"(answer {"jsonrpc":"2.0","id":"q","error")"); };
        co_await until(done);
    });
}

TEST_CASE("stdio: a slow reader gets the newest progress and the result, in bounded memory") {
    stdio_scene s;
    s.run([](stdio_scene& s) -> aio::task<> {
        auto link = co_await s.open();
        auto begun = co_await link->call(tool("flood", true));
        REQUIRE(begun.ok());
        auto after = co_await test::call(*link, tool("t")); // the flood is over
        CHECK(!after.response.empty());
        auto got = co_await listen(**begun);
        CHECK(got.notes.size() <= 256);
        REQUIRE(!got.notes.empty());
        CHECK(got.notes.back() == progress("2", 9999));
        CHECK(!got.response.empty());
    });
}

TEST_CASE("stdio: isolated sessions have a process each, which ends with them") {
    server_settings about;
    about.isolation_per_session = true;
    stdio_scene s(about);
    s.run([](stdio_scene& s) -> aio::task<> {
        auto a = co_await s.open();
        auto b = co_await s.open();
        auto got_a = co_await test::call(*a, tool("t"));
        auto got_b = co_await test::call(*b, tool("t"));
        CHECK(pid_in(got_a.response) != pid_in(got_b.response));
        CHECK(*s.children == 2);
        co_await a->close();
        CHECK(*s.children == 1);
        CHECK_FALSE(a->usable());
        auto still = co_await test::call(*b, tool("t"));
        CHECK(!still.response.empty());
    });
}

TEST_CASE("stdio: a process that does not come up is unreachable, with how it ended") {
    server_settings about;
    about.env.emplace("DIE", base::secret("1"));
    stdio_scene s(about);
    s.run([](stdio_scene& s) -> aio::task<> {
        auto got = co_await s.try_open();
        REQUIRE_FALSE(got.ok());
        CHECK(got.error().code == errc::unreachable);
        CHECK(got.error().message.find("exit status 3") != std::string::npos);
        CHECK(*s.children == 0);
    });
}
