// TLS for the calling side; the only place of this room that sees OpenSSL.
// Server names are sent and verified; roots are the system's or those of `ca_file`.
#pragma once

#include "aio/task.hpp"
#include "base/result.hpp"
#include "net/http_client.hpp"
#include "net/socket.hpp"

#include <memory>
#include <span>
#include <string>

namespace sluice::net {

struct io_count {
    aio::error_code error;
    std::size_t count = 0;
};

// TLS over a connected socket that it refers to and does not own.
class tls_stream {
public:
    virtual ~tls_stream() = default;
    virtual aio::task<base::result<void>> handshake() = 0;
    virtual aio::task<io_count> read_some(std::span<char> room) = 0;
    virtual aio::task<io_count> write_some(std::span<const asio::const_buffer> what) = 0;
};

class tls_context {
public:
    virtual ~tls_context() = default;
    // errc::config when a file cannot be used.
    static base::result<std::shared_ptr<tls_context>> make(const tls_settings& settings);
    virtual base::result<std::unique_ptr<tls_stream>>
    wrap(tcp_socket& socket, const std::string& host) = 0;
};

} // namespace sluice::net
