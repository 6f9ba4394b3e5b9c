#include "base/recent_map.hpp"

#include <doctest/doctest.h>

#include <string>

using sluice::base::recent_map;

TEST_CASE("a full map lets go of what was not used for longest") {
    recent_map<int, std::string> m(2);
    m.put(1, "one");
    m.put(2, "two");
    REQUIRE(m.find(1) != nullptr); // used: 2 is the oldest now
    m.put(3, "three");
    CHECK(m.size() == 2);
    CHECK(m.find(2) == nullptr);
    REQUIRE(m.find(1) != nullptr);
    CHECK(*m.find(1) == "one");
    CHECK(*m.find(3) == "three");
}

TEST_CASE("what is put again is replaced, and takes no second place") {
    recent_map<int, std::string> m(2);
    m.put(1, "one");
    m.put(1, "uno");
    m.put(2, "two");
    CHECK(m.size() == 2);
    CHECK(*m.find(1) == "uno");
}

TEST_CASE("entries can be erased by their keys") {
    recent_map<int, std::string> m(8);
    for (int i = 0; i < 8; ++i)
        m.put(i, "x");
    m.erase_if([](int key) { return key % 2 == 0; });
    CHECK(m.size() == 4);
    CHECK(m.find(2) == nullptr);
    CHECK(m.find(3) != nullptr);
}
