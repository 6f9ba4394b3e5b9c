#include "app/client/arguments.hpp"

#include <doctest/doctest.h>

using namespace sluice::app;

namespace {

constexpr const char* schema =
    R"({"type":"object","properties":{"text":{"type":"string"},"count":{"type":"integer"},)"
    R"("ratio":{"type":"number"},"on":{"type":"boolean"},"list":{"type":"array"},"any":{},)"
    R"("maybe":{"type":["integer","null"]},"either":{"type":["integer","string"]}}})";

std::string made(std::vector<std::string> words, std::string_view with = schema) {
    auto values = split_words(words);
    if (!values) return "refused: " + values.error().message;
    auto json = arguments_json(*values, with);
    return json ? *json : "refused: " + json.error().message;
}

} // namespace

TEST_SUITE("app/client/arguments") {
    TEST_CASE("a value takes the type that the schema gives it") {
        CHECK(made({"text=5", "count=5"}) == R"({"text":"5","count":5})");
        CHECK(made({"on=true", "text=true"}) == R"({"on":true,"text":"true"})");
        CHECK(made({"ratio=1.10"}) == R"({"ratio":1.10})");
        CHECK(made({"list=[1, 2]"}) == R"({"list":[1, 2]})");
        CHECK(made({"maybe=null", "either=x"}) == R"({"maybe":null,"either":"x"})");
    }
    TEST_CASE("a number keeps its own text, however large") {
        CHECK(made({"count=18446744073709551616"}) == R"({"count":18446744073709551616})");
        CHECK(made({"count=-0"}) == R"({"count":-0})");
    }
    TEST_CASE("a value of another type is refused, naming the key and the type") {
        CHECK(made({"count=many"}) == "refused: count: 'many' is not of type integer");
        CHECK(made({"count=1.5"}) == "refused: count: '1.5' is not of type integer");
        CHECK(made({"on=yes"}) == "refused: on: 'yes' is not of type boolean");
        CHECK(made({"list={}"}) == "refused: list: '{}' is not of type array");
    }
    TEST_CASE("without a schema JSON is JSON and the rest is text") {
        CHECK(made({"a=5", "b=x", "c=\"q\"", "d="}, "") == R"({"a":5,"b":"x","c":"\"q\"","d":""})");
        CHECK(made({"any={\"a\":1}"}) == R"({"any":{"a":1}})");
    }
    TEST_CASE("words that are no key=value, or twice the same key, are refused") {
        CHECK(made({"x"}) == "refused: 'x' is not key=value");
        CHECK(made({"=x"}) == "refused: '=x' is not key=value");
        CHECK(made({"a=1", "a=2"}) == "refused: a is given twice");
        CHECK(made({"text=a=b"}) == R"({"text":"a=b"})");
    }
    TEST_CASE("a closed schema refuses an unknown key and suggests the near one") {
        auto closed = R"({"properties":{"count":{"type":"integer"}},"additionalProperties":false})";
        CHECK(
            made({"coun=1"}, closed) ==
            "refused: the tool has no argument 'coun'; did you mean 'count'?"
        );
    }
}
