// Writes down what is turned away, by the front or by the listeners themselves before there is a
// request to speak of: one count each, and a log line each up to a bound, so that a flood cannot
// fill the log; then one line with how many were left out. The bound is one for each reason and
// key: a flood without a key hides nothing that a key was refused. Made by app, one for the
// process.
#pragma once

#include "aio/deadlines.hpp"
#include "net/http_server.hpp"
#include "sys/meters.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::front {

struct doorman_rules {
    std::uint64_t lines = 10; // of one reason and key in one window
    std::chrono::milliseconds window{10'000};
};

// What is not known is empty, and not written.
struct turned_away {
    int status = 400;
    std::string_view reason;   // one word of a closed set
    std::string_view listener; // empty for the hosts' own
    std::string_view method;
    std::string_view endpoint;
    std::string_view key; // the name of a configured one: a closed set, too
    std::string_view peer;
    std::string_view text;
};

class doorman {
public:
    doorman(sys::meters& meters, aio::deadlines& deadlines, doorman_rules rules = {});
    doorman(const doorman&) = delete;
    doorman& operator=(const doorman&) = delete;
    ~doorman();

    void note(const turned_away& what);
    void note(std::string_view listener, const net::turned_away& what);

private:
    struct tally {
        std::uint64_t written = 0;
        std::uint64_t left_out = 0;
    };

    void say_left_out();

    sys::meters& meters_;
    doorman_rules rules_;
    aio::deadlines::guard window_;                                 // runs while there are tallies
    std::map<std::pair<std::string, std::string>, tally> tallies_; // by reason and key
};

} // namespace sluice::front
