// One child process as a session: newline-delimited JSON over its pipes.
// Spec: stdio transport. Its stderr goes to the log, thinned; a line of stdout that is no message
// is counted and dropped. When it ends, every call in flight fails with how it ended.
#pragma once

#include "aio/latch.hpp"
#include "upstream/duplex.hpp"

#include <memory>
#include <string>

namespace sluice::upstream {

class stdio_process final : public duplex {
public:
    // `settings` of all servers; `isolated` processes end with close(), shared ones with end().
    stdio_process(std::shared_ptr<core> shared, stdio_settings settings, bool isolated);

    // Spawns, opens the MCP session; on a fault nothing is left running.
    aio::task<base::result<void>> start(open_request request);

    aio::task<> close() override;
    // The ladder: close stdin, wait, TERM, wait, KILL. Returns when the process is reaped.
    aio::task<> end();

    bool alive() const { return child_ != nullptr && !child_->ended(); }
    aio::instant started() const { return started_; }

private:
    using self = std::shared_ptr<stdio_process>;
    base::result<void> spawn();
    base::result<void> put(std::string bytes, std::uint64_t id) override;
    static aio::task<> write_all(self me);
    static aio::task<> read_all(self me);
    static aio::task<> log_stderr(self me);
    void ended();

    stdio_settings settings_;
    bool isolated_;
    std::unique_ptr<net::child> child_;
    aio::channel<std::string> out_;
    std::size_t out_bytes_ = 0;
    aio::latch over_;
    bool ending_ = false;
    bool ended_ = false;
    aio::instant started_{};
};

// What a child sees: our variables that the settings allow, then the server's own.
std::vector<std::pair<std::string, std::string>> child_environment(
    const stdio_settings& all, const server_settings& server, const char* const* ours
);

// Thins out a chatty stderr: at most `burst` lines a second, long lines cut, control characters
// replaced; says how many were left out.
class line_thinner {
public:
    explicit line_thinner(std::size_t burst = 50, std::size_t longest = 2'000)
        : burst_(burst), longest_(longest) {}
    // What to log now; empty = nothing.
    std::vector<std::string> take(std::string line, aio::instant now);

private:
    std::size_t burst_;
    std::size_t longest_;
    aio::instant window_{};
    std::size_t said_ = 0;
    std::size_t left_out_ = 0;
};

} // namespace sluice::upstream
