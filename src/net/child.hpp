// Child processes with pipes, each in its own process group, guarded so that none outlives us.
// One guard process (this binary, hidden subcommand `guard-children`) learns every child's group
// over a pipe and kills the groups when the pipe closes, also when we are killed with SIGKILL. It
// knows what left its group by a mark in the environment that children and theirs inherit.
#pragma once

#include "aio/task.hpp"
#include "base/result.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::net {

struct child_settings {
    std::string command; // bare name (looked up in PATH) or absolute path; no shell
    std::vector<std::string> args;
    // The complete environment of the child, nothing is inherited beyond it.
    std::vector<std::pair<std::string, std::string>> environment;
    std::string working_directory; // empty = ours
};

class child {
public:
    virtual ~child() = default; // kills the group at once when it still runs
    virtual int pid() const = 0;
    // Writes all bytes to the child's stdin, in the order of calls. errc::closed when it has gone.
    virtual aio::task<base::result<void>> write(std::string bytes) = 0;
    // Some bytes of its stdout / stderr; an empty string at the end of the pipe.
    virtual aio::task<base::result<std::string>> read_stdout() = 0;
    virtual aio::task<base::result<std::string>> read_stderr() = 0;
    // close stdin → wait → SIGTERM to the group → wait → SIGKILL to the group; reaps. Safe to call
    // twice.
    virtual aio::task<> shut_down(std::chrono::milliseconds each_step) = 0;
    // SIGKILL to the group, now.
    virtual void kill_group() = 0;
    // Whether it has been reaped, and how it ended ("exit status 1", "signal 9").
    virtual bool ended() const = 0;
    virtual std::string how_it_ended() const = 0;
};

// The guard's far end. Start once, before the first child; every spawn registers with it. Outlives
// every child. Destroying it kills what is still registered. Needs main() to hand `guard-children`
// to guard_main(), and SIGPIPE ignored (start() does that when nobody has).
class child_guard {
public:
    static base::result<std::unique_ptr<child_guard>> start();
    virtual ~child_guard() = default;
    virtual void add(int process_group) = 0;
    virtual void remove(int process_group) = 0;
    // "NAME=value" for the environment of every child.
    virtual const std::string& mark() const = 0;
};
// The guard process's main loop: reads "=mark\n", "+pgid\n" and "-pgid\n" from fd 0 until EOF, then
// kills what is left.
int guard_main();

base::result<std::unique_ptr<child>>
spawn_child(aio::loop& loop, child_guard& guard, child_settings settings);

// The path that `name` would run: absolute paths as they are, bare names through PATH; nullopt if
// none.
std::optional<std::string> find_command(std::string_view name);

} // namespace sluice::net
