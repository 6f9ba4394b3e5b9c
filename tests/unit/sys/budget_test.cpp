#include "sys/budget.hpp"

#include <doctest/doctest.h>

using sluice::sys::budget;

TEST_CASE("a share is given back when it ends, and nothing is taken over the limit") {
    budget all(10);
    auto first = all.take(6);
    REQUIRE(first);
    CHECK_FALSE(all.take(5));
    CHECK(all.used() == 6);
    first.reset();
    CHECK(all.take(10));
    CHECK(all.used() == 0);
}

TEST_CASE("a share grows as far as there is room, and keeps what it has beyond") {
    budget all(10);
    auto first = all.take(2);
    auto second = all.take(4);
    CHECK(first->grow_to(6));
    CHECK_FALSE(first->grow_to(7));
    CHECK(all.used() == 10);
    CHECK(first->grow_to(1)); // never shrinks
    CHECK(all.used() == 10);
    first.reset();
    CHECK(all.used() == 4);
}

TEST_CASE("bytes counted elsewhere leave less room") {
    std::size_t elsewhere = 8;
    budget all(10);
    all.count_also(elsewhere);
    CHECK_FALSE(all.take(3));
    auto some = all.take(2);
    CHECK(some);
    elsewhere = 0;
    CHECK(some->grow_to(10));
}
