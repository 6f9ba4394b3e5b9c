#include "front/routes.hpp"

#include <doctest/doctest.h>

#include <string>

using sluice::front::find_route;

namespace {

// The names that a path means, or "(none)".
std::string names(std::string_view path, std::string_view mount = {}) {
    auto found = find_route(path, mount);
    return found ? found->names : "(none)";
}

} // namespace

TEST_CASE("the aggregate is at /mcp, with and without a slash behind it") {
    CHECK(names("/mcp") == "");
    CHECK(names("/mcp/") == "");
}

TEST_CASE("servers are named behind /mcp or before it") {
    for (auto path : {"/mcp/a,b", "/mcp/a,b/", "/a,b/mcp", "/a,b/mcp/"})
        CHECK(names(path) == "a,b");
    CHECK(names("/mcp/a.b_c-d") == "a.b_c-d");
}

TEST_CASE("names may be percent-encoded, also the comma") {
    CHECK(names("/mcp/a%2Cb") == "a,b");
    CHECK(names("/a%2cb/mcp") == "a,b");
    CHECK(names("/mcp/%61") == "a");
    for (auto path : {"/mcp/%", "/mcp/%2", "/mcp/%zz", "/mcp/%00"})
        CHECK(names(path) == "(none)");
}

TEST_CASE("the stream of HTTP+SSE and where its hosts post are below each endpoint") {
    auto at = [](std::string_view path, std::string_view mount = {}) {
        auto found = find_route(path, mount);
        REQUIRE(found);
        return found->at;
    };
    using sluice::front::endpoint;
    CHECK(at("/mcp") == endpoint::streamable);
    for (std::string path : {"/mcp/sse", "/a/mcp/sse", "/mcp/a/sse", "/mcp/messages/sse"}) {
        CAPTURE(path);
        CHECK(at(path) == endpoint::sse);
        CHECK(at(path + "/") == endpoint::sse);
        CHECK(at(path + "/messages") == endpoint::sse_messages);
    }
    CHECK(names("/mcp/sse") == "");
    CHECK(names("/a,b/mcp/sse") == "a,b");
    CHECK(names("/mcp/a,b/sse/messages") == "a,b");
    CHECK(at("/tools/mcp/sse", "/tools") == endpoint::sse);
    for (auto path :
         {"/sse",
          "/sse/messages",
          "/mcp/a/b/sse",
          "//mcp/sse",
          "/mcp//sse",
          "/mcp/sse/sse/messages/x"})
        CHECK(names(path) == "(none)");
}

TEST_CASE("no other path is ours") {
    for (auto path :
         {"",
          "/",
          "//",
          "mcp",
          "/mc",
          "/mcpx",
          "/MCP",
          "/mcp/a/b",
          "/a/b/mcp",
          "/mcp//",
          "//mcp",
          "/a",
          "/a/sse",
          "*",
          "/mcp/a/mcp"}) {
        CAPTURE(path);
        CHECK(names(path) == "(none)");
    }
}

TEST_CASE("a mount path is stripped, and a proxy may have stripped it before") {
    CHECK(names("/tools/mcp", "/tools") == "");
    CHECK(names("/tools/mcp/", "/tools") == "");
    CHECK(names("/tools/mcp/a", "/tools") == "a");
    CHECK(names("/tools/a/mcp", "/tools") == "a");
    CHECK(names("/mcp/a", "/tools") == "a");
    CHECK(names("/deep/er/mcp", "/deep/er") == "");
}

TEST_CASE("a path that only begins like the mount path keeps it") {
    CHECK(names("/toolsmith/mcp", "/tools") == "toolsmith");
    CHECK(names("/tools", "/tools") == "(none)");
}
