#include "net/socket.hpp"

#include <cerrno>
#include <sys/socket.h>

namespace sluice::net {

void prepare(tcp_socket& socket) {
    aio::error_code ignored;
    socket.non_blocking(true, ignored);
    socket.set_option(asio::ip::tcp::no_delay(true), ignored);
}

peek_state peek(tcp_socket& socket) {
    char byte = 0;
    auto got = ::recv(socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got > 0) return peek_state::bytes;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return peek_state::quiet;
    return peek_state::ended;
}

} // namespace sluice::net
