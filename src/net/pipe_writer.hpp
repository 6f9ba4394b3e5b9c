// The writing end of a pipe: whole messages in the order of calls, whoever stops waiting in
// between. A message once accepted is written to its end or the pipe is closed. Bounded: a reader
// that does not read makes further writes fail. Internal to net.
#pragma once

#include "aio/channel.hpp"
#include "aio/task.hpp"
#include "base/result.hpp"

#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include <deque>
#include <memory>
#include <string>

namespace sluice::net {

using pipe_end = boost::asio::posix::basic_stream_descriptor<aio::executor>;

class pipe_writer : public std::enable_shared_from_this<pipe_writer> {
public:
    pipe_writer(aio::executor ex, int fd); // owns the descriptor

    static aio::task<base::result<void>>
    write(std::shared_ptr<pipe_writer> self, std::string bytes);
    void close();

private:
    struct message {
        std::string bytes;
        std::size_t sent = 0;
        aio::signal_flag* waiting = nullptr;
        base::result<void>* outcome = nullptr;
    };
    void pump();
    void on_sent(const aio::error_code& error, std::size_t count);
    void settle(message& one, base::result<void> how);

    pipe_end pipe_;
    std::deque<std::shared_ptr<message>> outbox_;
    std::size_t waiting_bytes_ = 0;
    bool closed_ = false;
};

} // namespace sluice::net
