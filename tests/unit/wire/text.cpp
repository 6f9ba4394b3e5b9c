#include "wire/json.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>

using namespace sluice::wire;

TEST_CASE("escapes become the characters they name") {
    CHECK(unescape(R"("plain")") == "plain");
    CHECK(unescape(R"("\"\\\/\b\f\n\r\t")") == "\"\\/\b\f\n\r\t");
    CHECK(
        unescape(R"("\u0041\u00e9\u20AC\ud83d\ude00")") == "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"
    );
    CHECK(unescape(R"("\u0000")") == std::string(1, '\0'));
    CHECK(unescape("\"\"").empty());
}

TEST_CASE("lone surrogates stay apart from each other and from pairs") {
    CHECK(unescape(R"("\ud83d")") == "\xED\xA0\xBD");
    CHECK(unescape(R"("\ude00\ud83d")") == "\xED\xB8\x80\xED\xA0\xBD");
    CHECK(unescape(R"("\ud83d\u0041")") == "\xED\xA0\xBD\x41");
    CHECK(unescape(R"("\ud83d\ud83d\ude00")") == "\xED\xA0\xBD\xF0\x9F\x98\x80");
}

TEST_CASE("text that is cut short is unescaped without reading past it") {
    for (const char* text : {"", "\"", "\"\\\"", "\"\\u00\"", "\"\\ud83d\\u\""})
        CHECK_NOTHROW(unescape(text));
}

TEST_CASE("quoting escapes what JSON demands and nothing else") {
    CHECK(quote("a/é\x7F") == "\"a/é\x7F\"");
    CHECK(quote("\"\\\n\r\t\b\f") == R"("\"\\\n\r\t\b\f")");
    CHECK(quote(std::string_view("\0\x1F", 2)) == R"("\u0000\u001f")");
}

TEST_CASE("quoting always gives valid JSON, and lone surrogates come back") {
    for (const char* text : {R"("\ud83d")", R"("\ude00\ud83d x")"}) {
        const std::string again = quote(unescape(text));
        CHECK(validate(again).ok());
        CHECK(unescape(again) == unescape(text));
    }
    CHECK(
        quote("\xFF"
              "a\xC3") == R"("\ufffda\ufffd")"
    );
    CHECK(quote("\xED\xA0") == R"("\ufffd\ufffd")");
}

TEST_CASE("unescape undoes quote for any valid text") {
    std::mt19937 random(7);
    static constexpr const char* pieces[] = {
        "\"",
        "\\",
        "/",
        "\n",
        "\x01",
        "a",
        "bcdefghijklmnopqrs",
        "é",
        "€",
        "😀",
        "\x7F",
        " ",
        "\\u0041"
    };
    for (int round = 0; round < 2000; ++round) {
        std::string text;
        for (auto n = random() % 12; n > 0; --n)
            text += pieces[random() % std::size(pieces)];
        const std::string literal = quote(text);
        CAPTURE(literal);
        REQUIRE(validate(literal).ok());
        REQUIRE(unescape(literal) == text);
    }
}
