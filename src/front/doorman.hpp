// Writes down what the listeners turn away by themselves, before there is a request to speak of:
// one count each, and a log line each up to a bound, so that a flood cannot fill the log; then one
// line with how many were left out. Made by app for all listeners of the process.
#pragma once

#include "aio/deadlines.hpp"
#include "net/http_server.hpp"
#include "sys/meters.hpp"

#include <chrono>
#include <cstdint>
#include <string_view>

namespace sluice::front {

struct doorman_rules {
    std::uint64_t lines = 10; // in one window
    std::chrono::milliseconds window{10'000};
};

class doorman {
public:
    doorman(sys::meters& meters, aio::deadlines& deadlines, doorman_rules rules = {});
    doorman(const doorman&) = delete;
    doorman& operator=(const doorman&) = delete;
    ~doorman();

    // `listener` is empty for the hosts' own.
    void note(std::string_view listener, const net::turned_away& what);

private:
    void say_left_out();

    sys::meters& meters_;
    doorman_rules rules_;
    aio::deadlines::guard window_; // runs while one is open
    bool open_ = false;
    std::uint64_t written_ = 0;
    std::uint64_t left_out_ = 0;
};

} // namespace sluice::front
