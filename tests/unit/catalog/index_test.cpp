#include "catalog/index.hpp"

#include <doctest/doctest.h>

using namespace sluice;
using namespace sluice::catalog;

TEST_CASE("a list is known per server and kind, the newest reading of it") {
    catalog::index all;
    all.learn({0}, "tools", {{"a"}, true, {}});
    all.learn({0}, "tools", {{"a", "b"}, false, {}});
    all.learn({1}, "tools", {{"c"}, true, {}});
    const auto* known = all.find({0}, "tools");
    REQUIRE(known != nullptr);
    CHECK(known->natives == std::vector<std::string>{"a", "b"});
    CHECK_FALSE(known->complete);
    CHECK(all.find({0}, "prompts") == nullptr);
    CHECK(all.find({2}, "tools") == nullptr);
}

TEST_CASE("a server that is forgotten takes all its lists along, and no other's") {
    catalog::index all;
    all.learn({0}, "tools", {{"a"}, true, {}});
    all.learn({0}, "prompts", {{"p"}, true, {}});
    all.learn({1}, "tools", {{"c"}, true, {}});
    all.forget(0);
    CHECK(all.find({0}, "tools") == nullptr);
    CHECK(all.find({0}, "prompts") == nullptr);
    CHECK(all.find({1}, "tools") != nullptr);
}

TEST_CASE("what was read too long ago is not known") {
    catalog::index all(std::chrono::milliseconds(-1));
    all.learn({0}, "tools", {{"a"}, true, {}});
    CHECK(all.find({0}, "tools") == nullptr);
}

TEST_CASE("what one viewpoint was shown is not known from another") {
    catalog::index all;
    all.learn({0}, "tools", {{"a"}, true, {}});
    all.learn({0, "x"}, "tools", {{"a", "secret"}, true, {}});
    CHECK(all.find({0}, "tools")->natives.size() == 1);
    CHECK(all.find({0, "x"}, "tools")->natives.size() == 2);
    CHECK(all.find({0, "y"}, "tools") == nullptr);
    CHECK(all.ever_had({0, "x"}, "tools", "secret"));
    CHECK_FALSE(all.ever_had({0}, "tools", "secret"));
    all.forget(0);
    CHECK(all.find({0, "x"}, "tools") == nullptr);
}

TEST_CASE("any number of viewpoints takes a bounded place") {
    catalog::index all;
    for (std::size_t i = 0; i <= most_remembered; ++i)
        all.learn({0, std::to_string(i)}, "tools", {{"a"}, true, {}});
    CHECK(all.find({0, "0"}, "tools") == nullptr);
    CHECK(all.find({0, "1"}, "tools") != nullptr);
}
