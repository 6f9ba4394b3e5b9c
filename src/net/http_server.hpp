// The listening side of HTTP/1.1: accepts connections, reads one request after another within
// limits, and hands each to one handler coroutine. Used by front (the MCP endpoint, admin) and by
// test upstreams. Promises: at most max_connections at once; slow or oversized or ambiguous
// requests are answered (400, 408, 413, 431) without reaching the handler; a handler that never
// answers yields 500.
#pragma once

#include "aio/deadlines.hpp"
#include "aio/nursery.hpp"
#include "aio/task.hpp"
#include "base/result.hpp"
#include "net/http.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace sluice::net {

struct http_limits {
    std::size_t max_header_bytes = 32 * 1024;
    std::size_t max_body_bytes = 4 * 1024 * 1024;
    std::size_t max_connections = 10'000;
    std::chrono::milliseconds header_timeout{10'000
    }; // first byte of a request to the end of its head
    std::chrono::milliseconds body_timeout{30'000};  // the whole body
    std::chrono::milliseconds idle_timeout{75'000};  // between requests on a kept connection
    std::chrono::milliseconds write_timeout{30'000}; // one write that makes no progress
    // What the settings behind these are called, for who is refused by one; empty = not to be set.
    struct setting_names {
        std::string_view header_bytes;
        std::string_view connections;
        std::string_view header_timeout;
    } names = {};
};

// One request and the right to answer it, once: respond(), or start_stream() then write()…
// finish(). Owned by the connection; valid until the handler returns.
class exchange {
public:
    virtual ~exchange() = default;

    virtual const request_head& head() const = 0;
    virtual std::string_view peer_address() const = 0; // "127.0.0.1"
    // When the head of this request had arrived.
    virtual aio::instant arrived() const = 0;
    // For a stream that is open for long and needs it no more: head() is empty from now on.
    virtual void forget_head() = 0;

    // The whole body. errc::too_large (over the limit; nothing more is read and the answer closes
    // the connection), errc::timeout, errc::closed, errc::parse_error (broken chunking). At most
    // once.
    virtual aio::task<base::result<std::string>> read_body() = 0;

    // Writes the whole answer. An unread body closes the connection afterwards.
    virtual aio::task<base::result<void>> respond(response answer) = 0;

    // Answers with a chunked body of unknown length.
    virtual aio::task<base::result<void>> start_stream(response_head head) = 0;
    virtual aio::task<base::result<void>> write(std::string bytes) = 0;
    virtual aio::task<base::result<void>> finish() = 0;

    // From now on `gone` runs (once, from the loop, not from inside this call) when the peer closes
    // or half-closes the connection while we stream. Used to free a dead stream at once.
    virtual void on_peer_gone(std::function<void()> gone) = 0;
    // Whether it has done so by now; for before an answer has begun.
    virtual bool has_left() = 0;
    virtual bool responded() const = 0;
};

// A request, or a whole connection, that was refused here and that no handler saw. Nothing in it
// was sent by the peer.
struct turned_away {
    int status = 400;
    std::string_view reason; // one word of a closed set, for meters
    std::string_view text;   // what the peer was told
    std::string_view peer;   // "127.0.0.1"
};

struct http_server_counters {
    std::uint64_t accepted = 0;
    std::uint64_t refused = 0; // over max_connections
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
    std::size_t open = 0;
};

class http_server {
public:
    using handler = std::function<aio::task<>(exchange&)>;

    http_server(aio::loop& loop, aio::deadlines& deadlines, http_limits limits, handler serve);
    ~http_server();

    // Called for each refusal of its own, before the peer hears of it; must not wait.
    void on_turned_away(std::function<void(const turned_away&)> tell);

    // "127.0.0.1:8080", "[::1]:0", ":8080" (all interfaces). errc::config when it cannot be bound.
    base::result<void> listen(std::string_view address);
    std::uint16_t port() const;
    std::string local_address() const; // "127.0.0.1:41234"

    // No new connections; idle ones are closed; running handlers go on; their answers say
    // "Connection: close".
    void stop_accepting();
    // stop_accepting, then waits until every connection is done or `limit` has passed, then cancels
    // what is left and joins it.
    aio::task<> drain(aio::duration limit);

    const http_server_counters& counters() const;

private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace sluice::net
