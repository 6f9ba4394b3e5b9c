#include "wire/token.hpp"

#include <doctest/doctest.h>

#include <unordered_map>

using namespace sluice;
using namespace sluice::wire;

namespace {

token parsed(std::string_view text) {
    auto t = token::parse(text);
    REQUIRE(t.ok());
    return *std::move(t);
}

} // namespace

TEST_CASE("every string and integer is a token and keeps its text") {
    for (const char* text :
         {"0",
          "\"\"",
          "-7",
          "9007199254740993",
          "18446744073709551615",
          "-0",
          "123456789012345678901234567890",
          "\"0\"",
          "\"\\u0061\\n\"",
          "\"é\""}) {
        const token t = parsed(text);
        CHECK(t.text() == text);
        CHECK_FALSE(t.empty());
    }
}

TEST_CASE("fractions, exponents and other types are no tokens") {
    for (const char* text :
         {"1.5", "1.0", "1e3", "1E0", "true", "false", "null", "{}", "[1]", ""}) {
        const auto t = token::parse(text);
        REQUIRE_FALSE(t.ok());
        CHECK(t.error().code == base::errc::invalid_params);
    }
}

TEST_CASE("a string and a number of the same text are different tokens") {
    CHECK_FALSE(parsed("1") == parsed("\"1\""));
    CHECK_FALSE(parsed("\"\"") == token());
    CHECK_FALSE(parsed("0") == token());
}

TEST_CASE("strings are equal by what they decode to, numbers by their text") {
    CHECK(parsed("\"a\"") == parsed("\"\\u0061\""));
    CHECK(parsed("\"a\"").hash() == parsed("\"\\u0061\"").hash());
    CHECK_FALSE(parsed("\"a\"") == parsed("\"A\""));
    CHECK_FALSE(parsed("0") == parsed("-0"));
    CHECK_FALSE(parsed("9007199254740993") == parsed("9007199254740992"));
}

TEST_CASE("lone surrogates make different tokens") {
    CHECK_FALSE(parsed(R"("\ud800")") == parsed(R"("\ud801")"));
    CHECK_FALSE(parsed(R"("\ud800")") == parsed("\"\xEF\xBF\xBD\""));
}

TEST_CASE("own tokens are made from numbers and text") {
    CHECK(token::of(std::uint64_t{42}) == parsed("42"));
    CHECK(token::of(std::string_view("a\"b")) == parsed(R"("a\"b")"));
    CHECK(token::of(std::string_view("a\"b")).value() == "a\"b");
}

TEST_CASE("tokens are keys of a map") {
    std::unordered_map<token, int> map;
    map[parsed("0")] = 1;
    map[parsed("\"0\"")] = 2;
    map[parsed("\"\"")] = 3;
    CHECK(map.size() == 3);
    CHECK(map.at(parsed("\"\\u0030\"")) == 2);
    CHECK(map.at(parsed("0")) == 1);
}
