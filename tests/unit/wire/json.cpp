#include "wire/json.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::wire;

namespace {

std::string nested(std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
}

// The same string at every alignment of the 16-byte blocks.
bool valid_string_at_every_offset(const std::string& inner) {
    for (std::size_t lead = 0; lead < 40; ++lead)
        if (!validate('"' + std::string(lead, 'x') + inner + std::string(20, 'y') + '"'))
            return false;
    return true;
}

bool refused_at_every_offset(const std::string& inner) {
    for (std::size_t lead = 0; lead < 40; ++lead)
        if (validate('"' + std::string(lead, 'x') + inner + std::string(20, 'y') + '"'))
            return false;
    return true;
}

} // namespace

TEST_CASE("every form of RFC 8259 is accepted") {
    for (const char* text :
         {"{}",
          "[]",
          "\"\"",
          "0",
          "-0",
          "-0.0",
          "1e400",
          "1E+2",
          "0.5e-7",
          "true",
          "false",
          "null",
          " \t\r\n[ 1 , {\"a\" : [ ] } ]\n",
          "123456789012345678901234567890",
          R"("\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00")",
          R"("\ud83d")",
          "\"\x7F\"",
          R"({"a":1,"a":2})",
          R"({"":0})"}) {
        CAPTURE(text);
        CHECK(validate(text).ok());
    }
}

TEST_CASE("what is not JSON is refused as a parse error") {
    for (const char* text :
         {"",
          " ",
          "{",
          "[",
          "]",
          "[1,]",
          "[,1]",
          "[1 2]",
          "{\"a\"}",
          "{\"a\":}",
          "{\"a\":1,}",
          "{a:1}",
          "{'a':1}",
          "{\"a\" 1}",
          "01",
          "-",
          "+1",
          ".5",
          "1.",
          "1.e1",
          "1e",
          "1e+",
          "0x1",
          "NaN",
          "Infinity",
          "tru",
          "nulll",
          "True",
          "1 2",
          "{} {}",
          "\"",
          "\"\\",
          "\"\\x\"",
          "\"\\u12\"",
          "\"\\u12g4\"",
          "\"\\U0041\"",
          "\"a\tb\"",
          "\"a\nb\"",
          "// x\n1",
          "[1]x",
          "\xEF\xBB\xBF{}",
          "\v1",
          "\xC2\xA0"
          "1"}) {
        CAPTURE(text);
        const auto outcome = validate(text);
        REQUIRE_FALSE(outcome.ok());
        CHECK(outcome.error().code == base::errc::parse_error);
    }
    CHECK_FALSE(validate(std::string_view("\"a\0b\"", 5)).ok());
    CHECK_FALSE(validate(std::string_view("1\0", 2)).ok());
}

TEST_CASE("UTF-8 is checked wherever a string's block boundaries fall") {
    for (const char* good :
         {"\xC2\x80",
          "\xDF\xBF",
          "\xE0\xA0\x80",
          "\xED\x9F\xBF",
          "\xEE\x80\x80",
          "\xEF\xBF\xBF",
          "\xF0\x90\x80\x80",
          "\xF4\x8F\xBF\xBF"})
        CHECK(valid_string_at_every_offset(good));
    for (const char* bad :
         {"\x80",
          "\xBF",
          "\xC0\x80",
          "\xC1\xBF",
          "\xC2",
          "\xC2\x41",
          "\xE0\x9F\xBF",
          "\xE0\x80\x80",
          "\xED\xA0\x80",
          "\xED\xBF\xBF",
          "\xE2\x82",
          "\xF0\x8F\xBF\xBF",
          "\xF0\x9F\x98",
          "\xF4\x90\x80\x80",
          "\xF5\x80\x80\x80",
          "\xFE",
          "\xFF"})
        CHECK(refused_at_every_offset(bad));
    CHECK(refused_at_every_offset("\x1F"));
    CHECK(refused_at_every_offset("\n"));
}

TEST_CASE("a multi-byte character cut by the end of text is refused") {
    for (const char* cut : {"\"\xC3", "\"\xE2\x82", "\"\xF0\x9F\x98"})
        CHECK_FALSE(validate(cut).ok());
}

TEST_CASE("depth is limited exactly") {
    CHECK(validate(nested(128)).ok());
    CHECK_FALSE(validate(nested(129)).ok());
    CHECK(validate("[[1]]", {.max_depth = 2}).ok());
    CHECK_FALSE(validate("[[[]]]", {.max_depth = 2}).ok());
    CHECK_FALSE(validate("[]", {.max_depth = 0}).ok());
    CHECK(validate("1", {.max_depth = 0}).ok());
    CHECK_FALSE(validate(std::string(1'000'000, '['), {.max_depth = 5'000'000}).ok());
    std::string wide = "[";
    for (int i = 0; i < 300; ++i)
        wide += "[],{},";
    CHECK(validate(wide + "0]", {.max_depth = 2}).ok());
}

TEST_CASE("a fault names the byte and the reason") {
    auto deep = validate(nested(129)).error().message;
    CHECK(deep == "invalid JSON at byte 128: nested more deeply than 128 levels");
    CHECK(validate("[1,\x01]").error().message == "invalid JSON at byte 3: expected a value");
}

TEST_CASE("an object view gives exact texts of members in order") {
    const std::string text = R"( { "a" : 1.10 , "b":[1, {"a":"]}"}] ,"c\"}":"x\\" , "":{} } )";
    REQUIRE(validate(text).ok());
    std::vector<std::string> seen;
    for (const member& m : object_view(text))
        seen.push_back(std::string(m.raw_key) + "=" + std::string(m.value));
    CHECK(
        seen ==
        std::vector<std::string>{
            "\"a\"=1.10", R"("b"=[1, {"a":"]}"}])", R"("c\"}"="x\\")", "\"\"={}"
        }
    );
}

TEST_CASE("an array view gives exact texts of elements in order") {
    const std::string text = R"([ -0.0,"a,]" , [[],[]] ,{"x":[1]},true,null ])";
    REQUIRE(validate(text).ok());
    std::vector<std::string> seen;
    for (std::string_view element : array_view(text))
        seen.emplace_back(element);
    CHECK(
        seen ==
        std::vector<std::string>{"-0.0", "\"a,]\"", "[[],[]]", R"({"x":[1]})", "true", "null"}
    );
}

TEST_CASE("a view of an empty or other value has no members") {
    CHECK(object_view("{}").empty());
    CHECK(object_view("{ }").empty());
    CHECK(array_view(" [ ] ").empty());
    CHECK(object_view("[1]").empty());
    CHECK(array_view("{\"a\":1}").empty());
    CHECK(object_view("null").empty());
    CHECK(object_view("").empty());
}

TEST_CASE("views stay inside text that nobody validated") {
    for (const char* text :
         {"{\"a", "{\"a\"", "{\"a\":", "{\"a\":[", "{\"a\":\"\\", "{\"a\":1", "{,", "{\"a\" x"}) {
        std::size_t members = 0;
        for ([[maybe_unused]] const member& m : object_view(text))
            ++members;
        CHECK(members <= 1);
    }
    for (const char* text : {"[", "[1", "[\"", "[[", "[,,1", "[}"}) {
        std::size_t elements = 0;
        for ([[maybe_unused]] std::string_view e : array_view(text))
            ++elements;
        CHECK(elements <= 2);
    }
}

TEST_CASE("keys compare after unescaping") {
    const object_view view(R"({"n\u0061me":1,"na\/me":2,"naïve":3})");
    CHECK(view.find("name") == "1");
    CHECK(view.find("na/me") == "2");
    CHECK(view.find("naïve") == "3");
    CHECK_FALSE(view.find("n\\u0061me").has_value());
    CHECK_FALSE(view.find("nam").has_value());
}

TEST_CASE("kinds are told by the first character") {
    CHECK(kind_of("{}") == kind::object);
    CHECK(kind_of(" [") == kind::array);
    CHECK(kind_of("\"x\"") == kind::string);
    CHECK(kind_of("-1") == kind::number);
    CHECK(kind_of("true") == kind::true_);
    CHECK(kind_of("false") == kind::false_);
    CHECK(kind_of("null") == kind::null);
}

TEST_CASE("integers are told from other numbers") {
    for (const char* yes : {"0", "-0", "7", "-7", "9007199254740993", "18446744073709551615"})
        CHECK(is_integer(yes));
    for (const char* no : {"", "-", "1.0", "1e3", "01", "-01", "+1", "\"1\"", "0x1", " 1"})
        CHECK_FALSE(is_integer(no));
}

TEST_CASE("a watched member that occurs twice is found however it is written") {
    const std::string_view watched[] = {"name", "uri"};
    CHECK(duplicate_key(R"({"name":1,"x":2,"n\u0061me":3})", watched) == "name");
    CHECK(duplicate_key(R"({"uri":1,"name":2,"uri":3})", watched) == "uri");
    CHECK_FALSE(duplicate_key(R"({"x":1,"x":2,"name":{"name":1}})", watched).has_value());
}

TEST_CASE("a splice changes the named ranges and not one other byte") {
    const std::string text = R"({"a":1.10,"b":"x"})";
    const edit edits[] = {{{5, 9}, "9007199254740993"}, {{9, 9}, ",\"n\":0"}, {{14, 17}, ""}};
    CHECK(splice(text, edits) == R"({"a":9007199254740993,"n":0,"b":})");
    CHECK(splice(text, {}) == text);
}

TEST_CASE("edits at both ends and side by side work") {
    const edit ends[] = {{{0, 0}, "<"}, {{0, 1}, "("}, {{1, 2}, ")"}, {{2, 2}, ">"}};
    CHECK(splice("ab", ends) == "<()>");
}

TEST_CASE("edits that overlap, run backwards or leave the text are a bug of the caller") {
    const edit overlap[] = {{{0, 3}, "x"}, {{2, 4}, "y"}};
    const edit backwards[] = {{{3, 4}, "x"}, {{1, 2}, "y"}};
    const edit outside[] = {{{3, 9}, "x"}};
    const edit inverted[] = {{{3, 2}, "x"}};
    CHECK_THROWS_AS(splice("abcdef", overlap), std::invalid_argument);
    CHECK_THROWS_AS(splice("abcdef", backwards), std::invalid_argument);
    CHECK_THROWS_AS(splice("abcdef", outside), std::invalid_argument);
    CHECK_THROWS_AS(splice("abcdef", inverted), std::invalid_argument);
}

TEST_CASE("a first member is added to empty and other objects alike") {
    for (const char* text : {"{}", "{ }", R"({"b":2})", R"({ "b":2})"}) {
        const span whole{0, static_cast<std::uint32_t>(std::string_view(text).size())};
        const std::string added = first_member(text, "a\"", "[1]");
        const edit edits[] = {{inside(whole), added}};
        const std::string out = splice(text, edits);
        CAPTURE(out);
        CHECK(validate(out).ok());
        CHECK(object_view(out).find("a\"") == "[1]");
        CHECK(object_view(out).find("b").has_value() == object_view(text).find("b").has_value());
    }
}
