// Lines typed on the terminal, read without stopping the loop. Used by the asker.
// Opens the terminal anew: the flags of the process's own standard input stay as they are.
#pragma once

#include "aio/task.hpp"
#include "base/result.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <string>

namespace sluice::app {

class line_input {
public:
    explicit line_input(aio::loop& loop) : in_(loop) {}

    // Whether somebody can be asked: standard input and standard error are a terminal.
    static bool somebody_is_there();

    // Forgets what was typed before now: it was not meant for the question that comes.
    base::result<void> begin();
    // One line without its end. errc::closed at Ctrl-D, errc::unreachable when the terminal has
    // gone, errc::cancelled after interrupt().
    aio::task<base::result<std::string>> next();
    void interrupt();

private:
    using descriptor = aio::asio::posix::basic_stream_descriptor<aio::executor>;

    descriptor in_;
    std::string typed_;
    bool interrupted_ = false;
};

} // namespace sluice::app
