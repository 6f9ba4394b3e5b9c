// Wall time for what outlives a process (deadlines in cursors, TTLs). Tests wind it by hand.
#pragma once

#include <cstdint>

namespace sluice::sys {

// Milliseconds since 1970, UTC.
std::int64_t wall_ms();

// While it lives, wall_ms() answers what the test says. One at a time.
class hand_wound_clock {
public:
    explicit hand_wound_clock(std::int64_t start_ms);
    hand_wound_clock(const hand_wound_clock&) = delete;
    hand_wound_clock& operator=(const hand_wound_clock&) = delete;
    ~hand_wound_clock();
    void advance(std::int64_t by_ms);
};

} // namespace sluice::sys
