#include "net/http.hpp"

#include <doctest/doctest.h>

using namespace sluice;
using namespace sluice::net;

TEST_CASE("a URL is taken apart") {
    auto plain = parse_url("http://Example.com");
    REQUIRE(plain);
    CHECK(plain->host == "example.com");
    CHECK(plain->port == 80);
    CHECK(plain->target == "/");
    CHECK(plain->authority() == "example.com");

    auto full = parse_url("https://[2001:DB8::1]:8443/a/b?c=d");
    REQUIRE(full);
    CHECK(full->tls);
    CHECK(full->host == "2001:db8::1");
    CHECK(full->port == 8443);
    CHECK(full->target == "/a/b?c=d");
    CHECK(full->authority() == "[2001:db8::1]:8443");
    CHECK(parse_url("https://a?x")->target == "/?x");
}

TEST_CASE("what is no usable URL is refused") {
    for (std::string_view text :
         {"",
          "a",
          "http",
          "HTTP",
          "https",
          "http:",
          "http:/a",
          "httpa://b",
          "://a",
          "ftp://a",
          "http://",
          "http:///x",
          "http://u@a/",
          "http://u:p@a/",
          "http://a/#f",
          "http://a:0/",
          "http://a:65536/",
          "http://a:x/",
          "http://a b/",
          "http://a/b c",
          "http://[::1/",
          "http://[::1]x/",
          "http://a\r\nX: y/",
          "http://a/\n"}) {
        CAPTURE(text);
        CHECK(!parse_url(text));
    }
}

TEST_CASE("references resolve as RFC 3986 says") {
    auto base_url = *parse_url("http://a/b/c/d?q");
    CHECK(base_url.resolve("g")->target == "/b/c/g");
    CHECK(base_url.resolve("/g?y")->target == "/g?y");
    CHECK(base_url.resolve("?y")->target == "/b/c/d?y");
    CHECK(base_url.resolve("")->target == "/b/c/d?q");
    CHECK(base_url.resolve("../g")->target == "/b/g");
    CHECK(base_url.resolve("../../../g")->target == "/g");
    CHECK(base_url.resolve("./")->target == "/b/c/");
    CHECK(base_url.resolve("..")->target == "/b/");
    CHECK(base_url.resolve("/messages?id=1#f")->target == "/messages?id=1");
    auto other = base_url.resolve("//h/x");
    CHECK(other->host == "h");
    CHECK(!other->same_origin(base_url));
    CHECK(base_url.resolve("https://a/b")->tls);
    CHECK(!base_url.resolve("javascript:alert(1)"));
    CHECK(base_url.same_origin(*base_url.resolve("x")));
}

TEST_CASE("percent decoding") {
    CHECK(percent_decode("a%20b%2Fc%2f") == "a b/c/");
    CHECK(!percent_decode("%"));
    CHECK(!percent_decode("%2"));
    CHECK(!percent_decode("%zz"));
    CHECK(!percent_decode("a%00"));
}

TEST_CASE("fields compare names without case and keep order") {
    fields f;
    f.add("Accept", "a");
    f.add("accept", "b");
    f.add("Host", "h");
    CHECK(f.get("ACCEPT") == "a");
    CHECK(f.count("accept") == 2);
    f.set("Accept", "c");
    CHECK(f.count("accept") == 1);
    CHECK(f.all().front().first == "Host");
    f.erase("HOST");
    CHECK(!f.get("host"));
}
