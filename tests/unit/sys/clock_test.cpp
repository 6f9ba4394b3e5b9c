#include "sys/clock.hpp"

#include <doctest/doctest.h>

using namespace sluice;

TEST_CASE("a hand-wound clock stands until it is wound, and leaves the real one behind") {
    auto before = sys::wall_ms();
    {
        sys::hand_wound_clock clock(1000);
        CHECK(sys::wall_ms() == 1000);
        CHECK(sys::wall_ms() == 1000);
        clock.advance(500);
        CHECK(sys::wall_ms() == 1500);
    }
    CHECK(sys::wall_ms() >= before);
    CHECK(before > 1'600'000'000'000); // milliseconds, not seconds
}
