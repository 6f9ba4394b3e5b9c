// One look-up of a host name. The C library's cannot be stopped and may hang for long, so each has
// a thread of its own that touches nothing but this object: whoever waits may leave at any time,
// and a name server that hangs holds up nobody else. Waiters of one pool share one look-up.
// Internal to net.
#pragma once

#include "base/result.hpp"
#include "net/fork_exec.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sluice::net {

class lookup {
public:
    using endpoint = boost::asio::ip::tcp::endpoint;

    // errc::unreachable when no thread or descriptor is to be had.
    static base::result<std::shared_ptr<lookup>> start(std::string host, std::uint16_t port);
    // A descriptor that becomes readable, and stays so, when the answer is there; -1 when out of
    // them.
    int watch() const;
    // After that: the addresses in the order to try them.
    base::result<std::vector<endpoint>> answer() const;

private:
    void run();

    std::string host_;
    std::uint16_t port_ = 0;
    owned_fd done_;
    std::string failure_;
    std::vector<endpoint> found_;
};

} // namespace sluice::net
