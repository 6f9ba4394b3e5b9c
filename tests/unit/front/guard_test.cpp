#include "front/guard.hpp"

#include <doctest/doctest.h>

using namespace sluice;
using front::accepts;
using front::guard;

namespace {

front::settings at(std::string public_url) {
    front::settings s;
    s.public_url = std::move(public_url);
    return s;
}

bool takes(std::string_view accept, std::string_view type) {
    net::fields headers;
    headers.add("Accept", std::string(accept));
    return accepts(headers, type);
}

constexpr std::string_view sse = "text/event-stream";

} // namespace

TEST_CASE("loopback names are always our hosts, with any port") {
    guard g(at(""), true);
    for (auto host :
         {"localhost",
          "localhost:8080",
          "LOCALHOST:1",
          "127.0.0.1",
          "127.0.0.1:8080",
          "127.1.2.3",
          "[::1]",
          "[::1]:8080",
          "app.localhost:3000"}) {
        CAPTURE(host);
        CHECK(g.host_allowed(host));
    }
}

TEST_CASE("a name that only looks like loopback is none of ours") {
    guard g(at(""), true);
    for (auto host :
         {"",
          "evil.com",
          "localhost.evil.com",
          "127.0.0.1.evil.com",
          "127.evil.com",
          "notlocalhost",
          "[::2]",
          "[::1",
          "::1",
          "0.0.0.0",
          "10.0.0.1:8080",
          "evil.com:localhost"}) {
        CAPTURE(host);
        CHECK_FALSE(g.host_allowed(host));
    }
}

TEST_CASE("one of our hosts with anything but a port after it, or before it, is none of ours") {
    auto s = at("https://mcp.example.com");
    s.allowed_hosts = {"one", "two:81", "[2001:db8::1]"};
    s.allowed_origins = {"https://app.example.com"};
    guard g(s, true);
    for (std::string ours :
         {"127.0.0.1",
          "localhost",
          "[::1]",
          "app.localhost",
          "one",
          "mcp.example.com",
          "[2001:db8::1]"}) {
        CHECK(g.host_allowed(ours));
        CHECK(g.host_allowed(ours + ":65535"));
        for (auto tail :
             {":",         ":x", ":1x",    ":x@evil.com", ":80@evil.com", "@evil.com",   ":-1",
              ":+1",       ":0", ":65536", ":80:80",      ": 80",         " ",           "/",
              "/evil.com", "?",  "#",      "\\evil.com",  ",evil.com",    "%2eevil.com", "[",
              "]",         ".."}) {
            CAPTURE(ours);
            CAPTURE(tail);
            CHECK_FALSE(g.host_allowed(ours + tail));
            CHECK_FALSE(g.origin_allowed("http://" + ours + tail));
        }
        for (auto head : {"evil.com@", "x:y@", "[", " ", "/", "//", "http://", "evil.com:"}) {
            CAPTURE(ours);
            CAPTURE(head);
            CHECK_FALSE(g.host_allowed(head + ours));
            CHECK_FALSE(g.origin_allowed(std::string("http://") + head + ours));
        }
    }
    for (auto origin :
         {"://localhost",
          "a b://localhost",
          "http:/localhost",
          "http//localhost",
          "http://[::1",
          "http://::1",
          "http://127.1",
          "http://127.0.0.1.2",
          "evil.com/http://localhost"}) {
        CAPTURE(origin);
        CHECK_FALSE(g.origin_allowed(origin));
    }
}

TEST_CASE("the host of public_url is ours, without a port or with its own") {
    guard g(at("https://MCP.example.com/tools"), false);
    CHECK(g.host_allowed("mcp.example.com"));
    CHECK(g.host_allowed("MCP.example.com:443"));
    CHECK_FALSE(g.host_allowed("example.com"));
    CHECK_FALSE(g.host_allowed("x.mcp.example.com"));
    guard with_port(at("http://mcp.example.com:8443"), false);
    CHECK(with_port.host_allowed("mcp.example.com:8443"));
    CHECK_FALSE(with_port.host_allowed("mcp.example.com:1"));
}

TEST_CASE("allowed_hosts takes a name for any port, and a name with a port for that one") {
    auto s = at("");
    s.allowed_hosts = {"one", "two:81"};
    guard g(s, false);
    CHECK(g.host_allowed("one"));
    CHECK(g.host_allowed("ONE:99"));
    CHECK(g.host_allowed("two:81"));
    CHECK_FALSE(g.host_allowed("two:82"));
    CHECK_FALSE(g.host_allowed("two"));
}

TEST_CASE("loopback origins are allowed only where we listen on loopback") {
    guard local(at(""), true);
    guard open(at(""), false);
    for (auto origin :
         {"http://localhost:3000", "http://127.0.0.1", "https://localhost", "http://[::1]:5173"}) {
        CAPTURE(origin);
        CHECK(local.origin_allowed(origin));
        CHECK_FALSE(open.origin_allowed(origin));
    }
    for (auto origin :
         {"null", "", "http://evil.com", "http://localhost.evil.com", "localhost", "file://"}) {
        CAPTURE(origin);
        CHECK_FALSE(local.origin_allowed(origin));
    }
}

TEST_CASE("the origin of public_url, listed ones and the star are allowed, each exactly") {
    guard ours(at("https://mcp.example.com/tools"), false);
    CHECK(ours.origin_allowed("https://mcp.example.com"));
    CHECK_FALSE(ours.origin_allowed("http://mcp.example.com"));
    CHECK_FALSE(ours.origin_allowed("https://mcp.example.com:8443"));
    auto s = at("");
    s.allowed_origins = {"https://app.example.com"};
    guard listed(s, false);
    CHECK(listed.origin_allowed("https://app.example.com"));
    CHECK(listed.origin_allowed("https://APP.example.com"));
    CHECK_FALSE(listed.origin_allowed("https://app.example.com.evil.com"));
    s.allowed_origins = {"*"};
    CHECK(guard(s, false).origin_allowed("https://anything.example"));
}

TEST_CASE("a request without Host and Origin passes, a foreign one of either is forbidden and named"
) {
    guard g(at(""), true);
    net::request_head head;
    CHECK(g.check(head).ok());
    head.headers.add("Host", "localhost:8080");
    CHECK(g.check(head).ok());
    head.headers.add("Origin", "http://evil.com");
    auto refused = g.check(head);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == base::errc::forbidden);
    CHECK(refused.error().message.find("Origin") != std::string::npos);
    head.headers.set("Host", "evil.com");
    CHECK(g.check(head).error().message.find("Host") != std::string::npos);
}

TEST_CASE("JSON is application/json with or without parameters, and nothing else") {
    for (auto type :
         {"application/json",
          "Application/JSON",
          "application/json; charset=utf-8",
          " application/json ;x=y"}) {
        CHECK(front::is_json(type));
    }
    for (auto type :
         {"",
          "text/json",
          "application/json-rpc",
          "application/jsonx",
          "application/x; application/json"}) {
        CHECK_FALSE(front::is_json(type));
    }
}

TEST_CASE("an Accept header takes a type by name, by family and by star") {
    CHECK(takes("text/event-stream", sse));
    CHECK(takes("TEXT/Event-Stream", sse));
    CHECK(takes("application/json, text/event-stream", sse));
    CHECK(takes("application/json,text/event-stream;q=0.5", sse));
    CHECK(takes("text/*", sse));
    CHECK(takes("*/*", sse));
    CHECK_FALSE(takes("application/json", sse));
    CHECK_FALSE(takes("application/*", sse));
    CHECK_FALSE(takes("text/event-streams", sse));
    CHECK_FALSE(takes("", sse));
    CHECK_FALSE(accepts(net::fields(), sse));
}

TEST_CASE("a weight of zero takes nothing, however it is written") {
    for (auto accept :
         {"text/event-stream;q=0",
          "text/event-stream; q=0.0",
          "text/event-stream;q=0.000 , application/json",
          "text/event-stream;x=y;q=0",
          "*/*;q=0"}) {
        CAPTURE(accept);
        CHECK_FALSE(takes(accept, sse));
    }
    CHECK(takes("text/event-stream;q=0.001", sse));
    CHECK(takes("text/event-stream;q=1", sse));
}

TEST_CASE("the most specific range that fits decides, wherever it stands") {
    for (auto accept :
         {"application/json;q=0, */*",
          "*/*, application/json;q=0",
          "application/*, application/json;q=0",
          "application/*;q=0, */*"}) {
        CAPTURE(accept);
        CHECK_FALSE(takes(accept, "application/json"));
        CHECK(takes(std::string(accept) + ", text/*", sse));
    }
    CHECK(takes("application/json;q=0, */*", sse));
    CHECK(takes("application/json, */*;q=0", "application/json"));
    CHECK(takes("application/json;q=0, application/json", "application/json"));
}

TEST_CASE("several Accept headers count as one list") {
    net::fields headers;
    headers.add("Accept", "application/json");
    headers.add("accept", "text/event-stream");
    CHECK(accepts(headers, "application/json"));
    CHECK(accepts(headers, sse));
}
