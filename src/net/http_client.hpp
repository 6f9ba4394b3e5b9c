// The calling side of HTTP/1.1: a pool of kept connections to one origin, plain or TLS.
// A request is written once; nothing is ever sent again by this room. Idle connections live for
// min(the peer's Keep-Alive hint − 1 s, 4 s) and are checked for a pending close before reuse.
#pragma once

#include "aio/deadlines.hpp"
#include "aio/task.hpp"
#include "base/result.hpp"
#include "net/http.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace sluice::net {

struct tls_settings {
    std::string ca_file;          // PEM; empty = the system's roots
    std::string certificate_file; // PEM client certificate chain; empty = none
    std::string key_file;
};

struct client_settings {
    tls_settings tls;
    std::chrono::milliseconds connect_timeout{5'000};
    std::size_t max_idle = 64;
    std::size_t max_header_bytes = 64 * 1024;
};

struct client_request {
    std::string method = "POST";
    std::string target;
    fields headers; // Host, Content-Length and Connection are added
    std::string body;
    bool fresh = false; // never over a kept connection (a second try of what a stale one lost)
};

// A response being read. Destroying it before the end closes its connection (the request is
// abandoned); reading it to the end gives the connection back to the pool.
class client_response {
public:
    virtual ~client_response() = default;
    // Waits for the head, when begin() made this. Faults as http_pool::send; after errc::timeout it
    // may be asked again. Nothing else but cancel() may be called before it succeeded.
    virtual aio::task<base::result<void>> read_head(aio::instant until) = 0;
    virtual const response_head& head() const = 0;
    // Some more bytes of the body, an empty string at its end. errc::timeout at `until` (it may be
    // asked again); errc::closed when the peer cut it short; errc::cancelled after cancel().
    virtual aio::task<base::result<std::string>> read_some(aio::instant until) = 0;
    // Whether the body's end has been seen; read_some then returns empty strings.
    virtual bool done() const = 0;
    // Makes a pending and every later read return errc::cancelled. May be called any time.
    virtual void cancel() = 0;
    // Makes a pending read return errc::timeout; nothing when none is pending.
    virtual void nudge() = 0;
    // Takes cancel() back: reading goes on where it was.
    virtual void go_on() = 0;
};

// Reads the rest of the body, at most `limit` bytes (errc::too_large).
aio::task<base::result<std::string>>
read_all(client_response& from, std::size_t limit, aio::instant until);

class http_pool {
public:
    http_pool(aio::loop& loop, aio::deadlines& deadlines, url origin, client_settings settings);
    ~http_pool(); // closes idle connections; responses under way keep what they need

    // Sends and reads the response head. Faults: errc::unreachable (never connected; nothing was
    // sent), errc::closed (connection lost after at least one byte was written: it may have run),
    // errc::timeout at `until`, errc::protocol (not HTTP, or ambiguous framing).
    // `wrote_any` (optional) tells whether a byte of the request had left.
    aio::task<base::result<std::unique_ptr<client_response>>>
    send(client_request request, aio::instant until, bool* wrote_any = nullptr);
    // The same, but returns once the request is written: the answer can then be called off while
    // its head is awaited.
    aio::task<base::result<std::unique_ptr<client_response>>>
    begin(client_request request, aio::instant until, bool* wrote_any = nullptr);
    const url& origin() const;

    struct counters {
        std::uint64_t connects = 0;
        std::uint64_t reuses = 0;
        std::uint64_t bytes_in = 0;
        std::uint64_t bytes_out = 0;
        std::size_t idle = 0;
        std::size_t busy = 0;
    };
    counters count() const;

    struct state; // internal to net

private:
    std::shared_ptr<state> state_;
};

} // namespace sluice::net
