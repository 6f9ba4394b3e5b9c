// One configured upstream server: its connections, its health, and the sessions opened with it.
// Made once per configuration; used by gateway. Connecting is lazy: making one does no I/O.
#pragma once

#include "aio/deadlines.hpp"
#include "aio/nursery.hpp"
#include "aio/task.hpp"
#include "base/result.hpp"
#include "net/child.hpp"
#include "sys/budget.hpp"
#include "upstream/link.hpp"
#include "upstream/settings.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::upstream {

// What the host side knows when a session is opened; JSON texts go up verbatim.
struct open_request {
    std::string revision = "2025-11-25"; // what we ask for: the host's own revision
    std::string capabilities = "{}";     // until two-way traffic exists always {}
    std::string client_info;             // JSON object; empty = the gateway's own
    std::vector<std::pair<std::string, std::string>> headers; // host headers allowed to go up
    aio::instant until = aio::never;
    // What link::handle() of this session said, here or on another replica: the session is taken up
    // as it stands, without asking the upstream; empty = a new one. Only Streamable HTTP.
    std::string adopt;
};

enum class circuit_state : std::uint8_t { closed, open, half_open };

struct server_status {
    circuit_state circuit = circuit_state::closed;
    std::uint32_t consecutive_failures = 0;
    std::string last_problem; // our own words; no upstream prose, no URL
    std::size_t links = 0;
    std::size_t in_flight = 0;
    std::uint64_t connects = 0;
    std::uint64_t reuses = 0;
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
    std::uint64_t late_results = 0;   // results of cancelled or abandoned calls, dropped
    std::uint64_t stray_messages = 0; // nothing we asked for, or no message at all; dropped
    std::uint64_t dropped_notes = 0;  // for no call in flight, or more than a slow reader may queue
    std::uint64_t restarts = 0;       // stdio
};

// What a server may use of the process; all outlive it.
struct surroundings {
    aio::loop& loop;
    aio::deadlines& deadlines;
    // Null when stdio is disabled.
    net::child_guard* guard = nullptr;
    // One line of a child's stderr or of a change of health, for the log: (server, text).
    std::function<void(std::string_view server, std::string_view text)> say;
    // Children that run now, over all servers made with copies of this (stdio.max_processes).
    std::shared_ptr<std::size_t> children = std::make_shared<std::size_t>(0);
    // Bytes of messages held by the process; large ones count while they are received and after.
    // Null = no bound.
    sys::budget* bodies = nullptr;
};

class server {
public:
    virtual ~server() = default;

    virtual const server_settings& settings() const = 0;

    // Opens a session (initialize … notifications/initialized). http, sse: a new one each time;
    // stdio: the shared process's one link, started when needed, unless isolated.
    // errc::unreachable at once while the circuit is open.
    virtual aio::task<base::result<std::shared_ptr<link>>> open(open_request request) = 0;

    // Whether a session opened with it is the host's own and yet cannot leave this process (its
    // handle() is empty), as far as is known: a process per session, HTTP+SSE. Decision 2.
    virtual bool is_bound_here() const = 0;

    virtual server_status status() const = 0;

    // Ends children and connections; open links become unusable. Joined when it returns.
    virtual aio::task<> shut_down() = 0;
};

std::unique_ptr<server> make_server(
    surroundings around, server_settings settings, stdio_settings stdio, circuit_settings circuit
);

} // namespace sluice::upstream
