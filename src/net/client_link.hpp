// One connection of a pool, plain or TLS: connecting within a deadline, writing, and a buffer of
// what was read. Internal to net. Owned by the pool while idle, by a response while busy.
#pragma once

#include "aio/deadlines.hpp"
#include "net/http_client.hpp"
#include "net/lookup.hpp"
#include "net/read_buffer.hpp"
#include "net/socket.hpp"
#include "net/tls.hpp"

#include <memory>
#include <vector>

namespace sluice::net {

class client_link {
public:
    client_link(aio::loop& loop, aio::deadlines& deadlines, http_pool::counters& counters);
    client_link(const client_link&) = delete;
    client_link& operator=(const client_link&) = delete;

    // Tries every address of the host in turn. errc::unreachable, errc::timeout (at `until`),
    // errc::cancelled. `tls` may be null: plain TCP.
    // `shared` is where the links of one pool meet for one look-up.
    aio::task<base::result<void>> connect(
        const url& origin,
        tls_context* tls,
        std::weak_ptr<lookup>& shared,
        std::chrono::milliseconds limit,
        aio::instant until
    );

    // All of it. `wrote` becomes true when a byte has, or may have, left.
    aio::task<base::result<void>> send(pieces what, bool& wrote);
    // Without waiting, and only on plain connections; drops what has left from `what`.
    base::result<void> send_at_once(pieces& what, bool& wrote);

    // Reads something into buffer(); zero: it ended, see ended_well() and why().
    aio::task<std::size_t> read_more();
    // Reads something straight into `room`, which buffer() must not hold anything before.
    aio::task<std::size_t> read_into(std::span<char> room);
    read_buffer& buffer() { return in_; }

    // When what waits is cut off. It may be moved while another reads: a read that it has cut off
    // already still says timeout.
    void set_deadline(aio::instant at);
    void cut_off(); // now, as its deadline would
    bool ended_well() const { return error_ == asio::error::eof; }
    base::fault why() const; // of the last failure: timeout, cancelled or closed
    void cancel();           // every wait ends; the link is then of no use
    bool fit() const;        // idle, and the peer has neither closed nor said anything

private:
    aio::task<base::result<std::vector<asio::ip::tcp::endpoint>>>
    look_up(const url& origin, std::weak_ptr<lookup>& shared, aio::instant until);
    aio::task<base::result<void>> try_address(asio::ip::tcp::endpoint to, aio::instant until);
    aio::deadlines::guard cutting_off(aio::instant at);
    void begin_until(aio::instant at);

    tcp_socket mutable socket_;
    aio::deadlines& deadlines_;
    std::unique_ptr<tls_stream> tls_;
    read_buffer in_;
    aio::deadlines::guard guard_;
    http_pool::counters& counters_;
    aio::error_code error_;
    bool late_ = false;              // the deadline has cut off what waited
    std::uint32_t piece_ = 4 * 1024; // how much room the next read gets
};

} // namespace sluice::net
