#include "mcp/uri_template.hpp"

#include <doctest/doctest.h>

#include <string>

using sluice::mcp::matches_template;

TEST_CASE("a template without expressions matches itself alone") {
    CHECK(matches_template("file:///a", "file:///a"));
    CHECK_FALSE(matches_template("file:///a", "file:///ab"));
    CHECK_FALSE(matches_template("file:///ab", "file:///a"));
    CHECK(matches_template("", ""));
    CHECK_FALSE(matches_template("", "a"));
}

TEST_CASE("a simple expression stands for one segment, also an empty one") {
    CHECK(matches_template("db://{table}/rows", "db://users/rows"));
    CHECK(matches_template("db://{table}/rows", "db:///rows"));
    CHECK_FALSE(matches_template("db://{table}/rows", "db://a/b/rows"));
    CHECK_FALSE(matches_template("db://{table}", "db://a/b"));
    CHECK(matches_template("x:{a,b}", "x:1,2"));
}

TEST_CASE("operators that may span segments do") {
    CHECK(matches_template("file://{+path}", "file:///a/b/c"));
    CHECK(matches_template("x:{/a,b}", "x:/1/2"));
    CHECK(matches_template("x:{#frag}", "x:#a/b"));
    CHECK(matches_template("x:y{?q,r}", "x:y?q=a/b&r=2"));
}

TEST_CASE("every way of dividing the URI among expressions is tried") {
    CHECK(matches_template("{a}-{b}-z", "x-y-z-z"));
    CHECK(matches_template("{a}b{c}b", "bbbb"));
    CHECK(matches_template("{+a}/x/{b}", "p/x/q/x/r"));
    CHECK_FALSE(matches_template("{a}b{c}b", "b"));
    CHECK_FALSE(matches_template("{a}/{b}", "abc"));
}

TEST_CASE("a brace that is never closed is text") {
    CHECK(matches_template("a{b", "a{b"));
    CHECK_FALSE(matches_template("a{b", "ab"));
}

TEST_CASE("a URI or a template beyond the bound matches nothing, whatever an upstream made it of") {
    CHECK(matches_template("{+a}", std::string(8192, 'a')));
    CHECK_FALSE(matches_template("{+a}", std::string(8193, 'a')));
    std::string many;
    while (many.size() <= 2048)
        many += "{a}";
    CHECK_FALSE(matches_template(many, "aaa"));
}
