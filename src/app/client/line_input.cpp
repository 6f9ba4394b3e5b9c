#include "app/client/line_input.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

namespace sluice::app {

using base::errc;
using base::fault;

bool line_input::somebody_is_there() {
    return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1;
}

base::result<void> line_input::begin() {
    interrupted_ = false;
    typed_.clear();
    if (!in_.is_open()) {
        // Waiting makes the open file non-blocking; a second one keeps that from the shell's.
        int fd = ::open("/proc/self/fd/0", O_RDONLY | O_NOCTTY | O_CLOEXEC);
        if (fd < 0) fd = ::open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
        if (fd < 0) return fault(errc::closed, "the terminal cannot be read");
        aio::error_code failed;
        in_.assign(fd, failed);
        if (failed) {
            ::close(fd);
            return fault(errc::closed, "the terminal cannot be waited for");
        }
    }
    ::tcflush(in_.native_handle(), TCIFLUSH);
    return {};
}

aio::task<base::result<std::string>> line_input::next() {
    std::array<char, 4096> buffer;
    for (;;) {
        if (auto end = typed_.find('\n'); end != std::string::npos) {
            std::string line = typed_.substr(0, end);
            typed_.erase(0, end + 1);
            if (line.ends_with('\r')) line.pop_back();
            co_return line;
        }
        if (interrupted_) co_return fault(errc::cancelled, "no longer asked");
        auto [failed] = co_await in_.async_wait(descriptor::wait_read, aio::nothrow);
        if (interrupted_) co_return fault(errc::cancelled, "no longer asked");
        if (failed) co_return fault(errc::unreachable, "the terminal has gone");
        auto count = ::read(in_.native_handle(), buffer.data(), buffer.size());
        if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (count < 0) co_return fault(errc::unreachable, "the terminal has gone");
        if (count == 0) co_return fault(errc::closed, "the input has ended");
        typed_.append(buffer.data(), static_cast<std::size_t>(count));
    }
}

void line_input::interrupt() {
    interrupted_ = true;
    aio::error_code ignored; // nothing is pending when it fails
    if (in_.is_open()) in_.cancel(ignored);
}

} // namespace sluice::app
