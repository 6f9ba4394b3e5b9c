#include "app/client/form.hpp"

#include <doctest/doctest.h>

using namespace sluice;
using namespace sluice::app;

namespace {

std::string with(std::string_view property, std::string_view required = "[]") {
    return R"({"type":"object","properties":{"p":)" + std::string(property) + R"(},"required":)" +
           std::string(required) + "}";
}

form_field only(std::string_view property) {
    auto fields = form_fields(with(property));
    REQUIRE(fields);
    REQUIRE(fields->size() == 1);
    return fields->front();
}

// The JSON of what was typed, or "!" and why not.
std::string typed(std::string_view property, std::string_view line) {
    auto value = field_value(only(property), line);
    return value ? *value : "!" + value.error().message;
}

bool refused(std::string_view property, std::string_view line) {
    return typed(property, line).starts_with("!");
}

} // namespace

TEST_SUITE("app/client/form") {
    TEST_CASE("text is what was typed, blanks and all") {
        auto text = R"({"type":"string"})";
        CHECK(typed(text, " a \"b\" é ") == R"(" a \"b\" é ")");
        CHECK(typed(text, "5") == R"("5")");
        CHECK(typed(text, "\"\"") == R"("")");
        CHECK(refused(text, "\xff"));
    }
    TEST_CASE("the length of a text is counted in characters") {
        auto text = R"({"type":"string","minLength":2,"maxLength":3})";
        CHECK(refused(text, "é"));
        CHECK(typed(text, "éé") == R"("éé")");
        CHECK(typed(text, "ééé") == R"("ééé")");
        CHECK(refused(text, "éééé"));
        CHECK(typed(text, "a") == "!that is too short; please: text, from 2 to 3 characters");
    }
    TEST_CASE("formats find slips of the fingers") {
        auto is = [](std::string_view format, std::string_view line) {
            return !refused(R"({"type":"string","format":")" + std::string(format) + "\"}", line);
        };
        CHECK(is("date", "2024-02-29"));
        CHECK_FALSE(is("date", "2023-02-29"));
        CHECK_FALSE(is("date", "2023-2-9"));
        CHECK(is("date-time", "2023-01-31T23:59:60Z"));
        CHECK(is("date-time", "2023-01-31t00:00:00.25+05:30"));
        CHECK_FALSE(is("date-time", "2023-01-31T24:00:00Z"));
        CHECK_FALSE(is("date-time", "2023-01-31T00:00:00.Z"));
        CHECK_FALSE(is("date-time", "2023-01-31T00:00:00"));
        CHECK(is("email", "a@b.example"));
        CHECK_FALSE(is("email", "a b@c.example"));
        CHECK_FALSE(is("email", "@c.example"));
        CHECK_FALSE(is("email", "a@c..example"));
        CHECK(is("uri", "urn:x:y"));
        CHECK_FALSE(is("uri", "example.com"));
        CHECK_FALSE(is("uri", "1http://x"));
        CHECK(is("ipv9", "anything"));
    }
    TEST_CASE("a number keeps its text and its bounds") {
        auto number = R"({"type":"number","minimum":-1.5,"maximum":10})";
        CHECK(typed(number, " 1.10 ") == "1.10");
        CHECK(typed(number, "-1.5") == "-1.5");
        CHECK(refused(number, "-1.51"));
        CHECK(refused(number, "10.0001"));
        CHECK(refused(number, "1e400"));
        CHECK(refused(number, ".5"));
        CHECK(refused(number, "0x5"));
        CHECK(refused(number, "true"));
        auto whole = R"({"type":"integer"})";
        CHECK(typed(whole, "9007199254740993") == "9007199254740993");
        CHECK(refused(whole, "1.5"));
        CHECK(
            typed(R"({"type":"integer","minimum":1,"maximum":5})", "six") ==
            "!that is no number; please: a whole number from 1 to 5"
        );
    }
    TEST_CASE("yes and no are booleans") {
        auto yes_no = R"({"type":"boolean"})";
        CHECK(typed(yes_no, "Y") == "true");
        CHECK(typed(yes_no, " no ") == "false");
        CHECK(typed(yes_no, "false") == "false");
        CHECK(refused(yes_no, "1"));
    }
    TEST_CASE("one of several is named by place, value or title, and travels as its exact value") {
        auto titled = R"({"type":"string","oneOf":[{"const":"\u0023f00","title":"Red"},)"
                      R"({"const":"#0f0","title":"Green"}]})";
        CHECK(typed(titled, "1") == R"("\u0023f00")");
        CHECK(typed(titled, "#f00") == R"("\u0023f00")");
        CHECK(typed(titled, "green") == R"("#0f0")");
        CHECK(refused(titled, "3"));
        CHECK(refused(titled, "0"));
        CHECK(refused(titled, "blue"));
        auto old = R"({"type":"string","enum":["a","b"],"enumNames":["Anna"]})";
        CHECK(typed(old, "anna") == R"("a")");
        CHECK(typed(old, "2") == R"("b")");
    }
    TEST_CASE("choices that are called like numbers have no places") {
        auto numbers = R"({"type":"string","enum":["2","1"]})";
        CHECK(typed(numbers, "1") == R"("1")");
        CHECK(typed(numbers, "2") == R"("2")");
        CHECK_FALSE(only(numbers).numbered);
    }
    TEST_CASE("a title that two choices share names neither") {
        auto same =
            R"({"type":"string","oneOf":[{"const":"a","title":"X"},{"const":"b","title":"x"}]})";
        CHECK(refused(same, "x"));
        CHECK(typed(same, "b") == R"("b")");
    }
    TEST_CASE("several are a list with commas, each once, as many as wanted") {
        auto plain = R"({"type":"array","items":{"type":"string","enum":["a","b","c, d"]},)"
                     R"("minItems":1,"maxItems":2})";
        CHECK(typed(plain, "2, a,b") == R"(["b","a"])");
        CHECK(typed(plain, "c, d") == R"(["c, d"])");
        CHECK(refused(plain, "none"));
        CHECK(refused(plain, "1,2,3"));
        CHECK(refused(plain, "1,x"));
        auto any = R"({"type":"array","items":{"anyOf":[{"const":"m","title":"Milk"}]}})";
        CHECK(typed(any, "none") == "[]");
        CHECK(typed(any, "MILK") == R"(["m"])");
    }
    TEST_CASE("a default is offered with its exact text, and only when it fits") {
        CHECK(only(R"({"type":"number","default":1.10})").initial == "1.10");
        CHECK(only(R"({"type":"string","default":"\u00e9"})").initial == R"("\u00e9")");
        CHECK(only(R"({"type":"boolean","default":false})").initial == "false");
        CHECK(
            only(R"({"type":"array","items":{"type":"string","enum":["a"]},"default":["a"]})")
                .initial == R"(["a"])"
        );
        CHECK_FALSE(only(R"({"type":"integer","default":7,"maximum":5})").initial);
        CHECK_FALSE(only(R"({"type":"integer","default":"7"})").initial);
        CHECK_FALSE(only(R"({"type":"string","enum":["a"],"default":"b"})").initial);
        CHECK_FALSE(only(R"({"type":"string","format":"date","default":"soon"})").initial);
    }
    TEST_CASE("what cannot be asked is refused, not guessed") {
        for (auto property :
             {R"({"type":"object"})",
              R"({"type":"array"})",
              R"({"type":"array","items":{"type":"string"}})",
              R"({})",
              R"({"type":"null"})",
              R"(true)",
              R"({"type":"string","enum":[1]})",
              R"({"type":"string","oneOf":[{"type":"string"}]})",
              R"({"type":["string","null"]})"})
            CHECK_FALSE(form_fields(with(property)));
        CHECK_FALSE(form_fields(""));
        CHECK_FALSE(form_fields("[]"));
        CHECK_FALSE(form_fields(with(R"({"type":"string"})", R"(["q"])")));
        CHECK(form_fields("{}")->empty());
        CHECK(form_fields(with(R"({"type":"string"})", R"(["\u0070"])"))->front().required);
    }
}
