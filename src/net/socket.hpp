// The socket type of this room and the gathered write that first tries without waiting. Internal to
// net.
#pragma once

#include "aio/task.hpp"

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace sluice::net {

namespace asio = boost::asio;
using tcp_socket = asio::basic_stream_socket<asio::ip::tcp, aio::executor>;

inline asio::const_buffer as_buffer(std::string_view text) {
    return {text.data(), text.size()};
}

// Up to four pieces of memory that leave in one system call, less what has already left.
class pieces {
public:
    pieces(
        std::string_view a,
        std::string_view b = {},
        std::string_view c = {},
        std::string_view d = {}
    )
        : parts_{as_buffer(a), as_buffer(b), as_buffer(c), as_buffer(d)} {}

    std::span<const asio::const_buffer> left() const { return std::span(parts_).subspan(first_); }
    bool empty() const { return first_ == parts_.size(); }

    void drop(std::size_t sent) {
        while (first_ < parts_.size() && sent >= parts_[first_].size())
            sent -= parts_[first_++].size();
        if (first_ < parts_.size()) parts_[first_] += sent;
    }
    std::string copy() const {
        std::string all;
        for (const auto& part : left())
            all.append(static_cast<const char*>(part.data()), part.size());
        return all;
    }

private:
    std::array<asio::const_buffer, 4> parts_;
    std::size_t first_ = 0;
};

// Sends what the kernel takes at once; returns how much. `error` stays clear when it would block.
inline std::size_t send_now(tcp_socket& socket, pieces& what, aio::error_code& error) {
    auto sent = socket.write_some(what.left(), error);
    if (error == asio::error::would_block || error == asio::error::try_again) error = {};
    what.drop(sent);
    return sent;
}

// Our sockets never block, and never wait to fill a packet.
void prepare(tcp_socket& socket);
// Whether a read would return at once: end, error or bytes.
enum class peek_state { quiet, bytes, ended };
peek_state peek(tcp_socket& socket);

} // namespace sluice::net
