#include "net/http_parse.hpp"

#include "net/chunks.hpp"

#include <doctest/doctest.h>

using namespace sluice;
using namespace sluice::net;

namespace {

std::string with(std::string_view lines) {
    return "POST /mcp HTTP/1.1\r\nHost: a\r\n" + std::string(lines) + "\r\n";
}

std::string answer_with(std::string_view lines) {
    return "HTTP/1.1 200 OK\r\n" + std::string(lines) + "\r\n";
}

} // namespace

TEST_CASE("a plain request head is read") {
    auto got = parse_request_head(with("Content-Length: 12\r\nX-Odd:  spaced \t\r\nx-empty:\r\n"));
    REQUIRE(got);
    CHECK(got->head.method == "POST");
    CHECK(got->head.target == "/mcp");
    CHECK(got->head.keep_alive);
    CHECK(got->body.kind == body_kind::length);
    CHECK(got->body.length == 12);
    CHECK(got->head.headers.get("x-odd") == "spaced");
    CHECK(got->head.headers.get("X-EMPTY") == "");
}

TEST_CASE("every head whose length two parties could read differently is refused") {
    const std::string refused[] = {
        with("Transfer-Encoding: xchunked\r\n"),
        with("Transfer-Encoding: chunked, identity\r\n"),
        with("Transfer-Encoding: gzip, chunked\r\n"),
        with("Transfer-Encoding: identity\r\n"),
        with("Transfer-Encoding:\r\n"),
        with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
        with("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n"),
        with("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n"),
        with("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n"),
        with("Content-Length: 2, 2\r\n"),
        with("Content-Length: +2\r\n"),
        with("Content-Length: -2\r\n"),
        with("Content-Length: 0x2\r\n"),
        with("Content-Length: 2 2\r\n"),
        with("Content-Length:\r\n"),
        with("Content-Length: 99999999999999999999\r\n"),
        with("Content-Length: 2\r\nContent-Length: 2\r\n"),
        with("Content-Length: 2\r\nContent-Length: 3\r\n"),
        with("Host: b\r\n"),
        with("X: a\r\n b\r\n"),
        with("X: a\r\n\tb\r\n"),
        with("X : a\r\n"),
        with("X\t: a\r\n"),
        with(": a\r\n"),
        with("X\r\n"),
        with("X: a\nContent-Length: 3\r\n"),
        with("X: a\rb\r\n"),
        with(std::string("X: a\0b\r\n", 8)),
        with("X: a\x01"
             "b\r\n"),
        "POST /mcp HTTP/1.1\r\n\r\n",
        "POST /mcp HTTP/1.1\r\n Host: a\r\n\r\n",
        "POST /mcp HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST /mcp HTTP/2.0\r\nHost: a\r\n\r\n",
        "POST  /mcp HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST /m cp HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST mcp HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST /mcp\r\nHost: a\r\n\r\n",
    };
    for (const auto& head : refused) {
        CAPTURE(head);
        auto got = parse_request_head(head);
        REQUIRE(!got);
        CHECK(got.error().code == base::errc::parse_error);
    }
}

TEST_CASE("what is merely unusual is accepted") {
    CHECK(
        parse_request_head(with("Transfer-Encoding: Chunked\r\n"))->body.kind == body_kind::chunked
    );
    CHECK(parse_request_head(with("Content-Length: 0\r\n"))->body.kind == body_kind::none);
    CHECK(parse_request_head(with("X: \xc3\xa9\r\n"))->head.headers.get("x") == "\xc3\xa9");
    auto old = parse_request_head("GET / HTTP/1.0\r\n\r\n");
    REQUIRE(old);
    CHECK(old->http_1_0);
    CHECK(!old->head.keep_alive);
    CHECK(!parse_request_head(with("Connection: foo, Close\r\n"))->head.keep_alive);
    auto absolute = parse_request_head("GET http://b:81/x?y HTTP/1.1\r\nHost: a\r\n\r\n");
    REQUIRE(absolute);
    CHECK(absolute->head.target == "/x?y");
    CHECK(absolute->head.headers.get("host") == "b:81");
    CHECK(parse_request_head(with("Expect: 100-Continue\r\n"))->expects_continue);
}

TEST_CASE("responses are held to the same rules") {
    CHECK(!parse_response_head(answer_with("Transfer-Encoding: gzip, chunked\r\n"), false));
    CHECK(!parse_response_head(
        answer_with("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n"), false
    ));
    CHECK(!parse_response_head(answer_with("Content-Length: 3\r\nContent-Length: 3\r\n"), false));
    CHECK(!parse_response_head(answer_with("Content-Length: 3, 3\r\n"), false));
    CHECK(!parse_response_head(answer_with("X: a\r\n b\r\n"), false));
    CHECK(!parse_response_head("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", false));
    CHECK(!parse_response_head("ICY 200 OK\r\n\r\n", false));
}

TEST_CASE("the end of a response follows from its status and fields") {
    auto until_close = parse_response_head(answer_with(""), false);
    REQUIRE(until_close);
    CHECK(until_close->body.kind == body_kind::until_close);
    CHECK(!until_close->keep_alive);
    auto none = parse_response_head("HTTP/1.1 204 No Content\r\n\r\n", false);
    CHECK(none->body.kind == body_kind::none);
    CHECK(none->keep_alive);
    auto to_head = parse_response_head(answer_with("Content-Length: 30\r\n"), true);
    CHECK(to_head->body.kind == body_kind::none);
    CHECK(to_head->keep_alive);
    CHECK(!parse_response_head(answer_with("Content-Length: 3\r\nConnection: close\r\n"), false)
               ->keep_alive);
}

TEST_CASE("the end of a head is found whatever the pieces") {
    std::string text = with("X: a\r\n") + "body\r\n\r\n";
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
        head_scanner scanner;
        auto first = scanner.scan(std::string_view(text).substr(0, cut));
        REQUIRE(first != head_state::malformed);
        if (first == head_state::incomplete) first = scanner.scan(text);
        CHECK(first == head_state::complete);
        CHECK(scanner.size() == text.size() - 8);
    }
    head_scanner bare;
    CHECK(bare.scan("GET / HTTP/1.1\nHost: a\n\n") == head_state::malformed);
}

TEST_CASE("chunks decode the same in any two pieces") {
    std::string text = "5;x=\"y\"\r\nhello\r\n1\r\n \r\n00A\r\n0123456789\r\n0\r\nT: v\r\n\r\nnext";
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
        chunk_decoder decoder;
        std::string out;
        auto used = decoder.feed(std::string_view(text).substr(0, cut), out);
        if (!decoder.done()) used += decoder.feed(std::string_view(text).substr(cut), out);
        CHECK(decoder.done());
        CHECK(out == "hello 0123456789");
        CHECK(used == text.size() - 4);
    }
}

TEST_CASE("broken chunks are refused") {
    for (std::string_view text :
         {"\r\n",
          "x\r\n",
          " 5\r\n",
          "5 \r\nhello\r\n",
          "0x5\r\n",
          "-1\r\n",
          "5\nhello",
          "5\r\nhelloX",
          "5\r\nhello\n",
          "fffffffffffffffff\r\n",
          "0\r\n folded: x\r\n\r\n",
          "5;a\x01\r\n",
          "0\r\n\n"}) {
        CAPTURE(text);
        chunk_decoder decoder;
        std::string out;
        decoder.feed(text, out);
        CHECK(decoder.failed());
    }
}
