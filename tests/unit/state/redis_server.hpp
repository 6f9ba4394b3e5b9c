// A real redis-server of the test's own on a free port of loopback, in a folder of its own; killed
// with the object, and by the kernel should the test die.
#pragma once

#include "../scratch_directory.hpp"
#include "state/redis_settings.hpp"

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace sluice::state::test {

class redis_server {
public:
    using words = std::vector<std::string>;

    // More arguments for its command line. With "tls-port" among them it has no plain port.
    // With a configuration it is a sentinel.
    explicit redis_server(words more = {}, std::string sentinel = "");
    redis_server(const redis_server&) = delete;
    redis_server& operator=(const redis_server&) = delete;
    ~redis_server();

    std::uint16_t port() const { return port_; }
    redis_address at() const { return {"127.0.0.1", port_}; }
    const std::string& folder() const { return folder_.path; }

    void stop();   // KILL, joined
    void start();  // again, on the same port
    void freeze(); // STOP: connections stay, nothing is answered
    void thaw();
    // One command on a connection of its own; the reply's raw bytes. Empty when it has none.
    std::string ask(const words& command) const;
    std::string info(const std::string& section) const { return ask({"INFO", section}); }

private:
    void launch();

    words more_;
    std::string sentinel_;
    sys::test::scratch_directory folder_;
    std::uint16_t port_ = 0;
    pid_t pid_ = -1;
};

// Looks again and again until that holds or the time is over, and says which; blocks the thread.
bool comes_true(const std::function<bool()>& condition, std::chrono::seconds within);
std::uint16_t free_port();
// Runs a command to its end (openssl); its exit status.
int run_program(const std::vector<std::string>& words);

} // namespace sluice::state::test
