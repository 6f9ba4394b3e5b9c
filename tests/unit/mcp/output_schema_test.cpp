#include "mcp/output_schema.hpp"
#include "wire/decimal.hpp"
#include "wire/json.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

using namespace sluice;

namespace {

std::string outcome(std::string_view schema, std::string_view value) {
    REQUIRE(wire::validate(schema));
    REQUIRE(wire::validate(value));
    auto read = mcp::output_schema::read(schema);
    if (!read) return "unknown: " + read.error().message;
    auto got = read->check(value);
    if (!got) return "no end";
    if (!*got) return "ok";
    return (*got)->keyword + " at " + (*got)->path;
}

constexpr std::string_view weather = R"({"type":"object","properties":{
    "city":{"type":"string"},"days":{"type":"array","items":{"type":"object",
    "properties":{"low/high~":{"type":"number"}},"required":["low/high~"]}}},
    "required":["city"],"additionalProperties":false})";

} // namespace

TEST_CASE("a result that fits its schema passes, and one that does not is told by keyword and path"
) {
    CHECK(outcome(weather, R"({"city":"Bern"})") == "ok");
    CHECK(outcome(weather, R"({})") == "required at ");
    CHECK(outcome(weather, R"([])") == "type at ");
    CHECK(outcome(weather, R"({"city":4711})") == "type at /city");
    CHECK(outcome(weather, R"({"city":"x","secret":1})") == "additionalProperties at ");
    CHECK(
        outcome(weather, R"({"city":"x","days":[{"low/high~":1},{"low/high~":"4711"}]})") ==
        "type at /days/1/low~1high~0"
    );
    CHECK(outcome(weather, R"({"city":"a","city":"b"})") == "a member twice at ");
}

TEST_CASE("a name that only the result knows is never shown") {
    CHECK(
        outcome(R"({"additionalProperties":{"type":"string"}})", R"({"private":1})") == "type at /*"
    );
}

TEST_CASE("numbers are compared as what they say, not as doubles") {
    CHECK(outcome(R"({"maximum":9007199254740992})", "9007199254740993") == "maximum at ");
    CHECK(outcome(R"({"const":9007199254740992})", "9007199254740993") == "const at ");
    CHECK(outcome(R"({"const":1})", "1.0") == "ok");
    CHECK(outcome(R"({"const":1})", "10e-1") == "ok");
    CHECK(outcome(R"({"type":"integer"})", "1.0") == "ok");
    CHECK(outcome(R"({"type":"integer"})", "1e400") == "ok");
    CHECK(outcome(R"({"type":"integer"})", "1.5") == "type at ");
    CHECK(outcome(R"({"multipleOf":0.1})", "0.3") == "ok");
    CHECK(outcome(R"({"multipleOf":0.1})", "0.35") == "multipleOf at ");
    CHECK(outcome(R"({"multipleOf":7})", "7e999999999999") == "ok");
    CHECK(outcome(R"({"exclusiveMinimum":-1e400})", "-1e401") == "exclusiveMinimum at ");
    CHECK(wire::decimal::of("-0.0") == wire::decimal::of("0"));
    CHECK(wire::decimal::of("-2") < wire::decimal::of("-1.9"));
    CHECK(wire::decimal::of("0.09") < wire::decimal::of("0.1"));
}

TEST_CASE("a schema that goes beyond what is known is refused as a whole, and nothing aborts") {
    for (std::string_view schema : {
             R"({"$anchor":"a"})",
             R"({"$dynamicRef":"#a"})",
             R"({"$ref":"https://example.com/schema.json"})",
             R"({"$ref":"other.json#/a"})",
             R"({"$ref":"file:///etc/passwd"})",
             R"({"$ref":"#name"})",
             R"({"$ref":"#/nowhere"})",
             R"({"$ref":"#/%zz"})",
             R"({"$ref":7})",
             R"({"properties":{"a":{"$id":"x"}}})",
             R"({"$defs":{"a":{"$id":"x","b":{}}},"$ref":"#/$defs/a/b"})",
             R"({"$schema":"http://json-schema.org/draft-04/schema#"})",
             R"({"$schema":1})",
             R"({"properties":{"a":{"pattern":"(a+)+$"}}})",
             R"({"patternProperties":{"^x":{}}})",
             R"({"unevaluatedProperties":false})",
             R"({"type":"object","type":"array"})",
             R"({"type":"thing"})",
             R"({"type":[]})",
             R"({"properties":[]})",
             R"({"items":[{}]})",
             R"({"minLength":-1})",
             R"({"minLength":1.5})",
             R"({"multipleOf":0})",
             R"({"required":"a"})",
             R"({"enum":1})",
             R"({"allOf":[]})",
             R"({"not":3})",
             R"({"surprise":true})",
             R"([])",
             R"("text")",
         }) {
        CAPTURE(schema);
        CHECK(outcome(schema, "{}").starts_with("unknown"));
    }
}

TEST_CASE("schemas that turn in circles end") {
    CHECK(outcome(R"({"$ref":"#"})", "1") == "no end");
    CHECK(outcome(R"({"allOf":[{"$ref":"#"},{"$ref":"#"}]})", "1") == "no end");
    CHECK(
        outcome(
            R"({"properties":{"next":{"$ref":"#"}},"type":"object"})", R"({"next":{"next":1}})"
        ) == "type at /next/next"
    );
    std::string wide = R"({"$defs":{"a0":{"type":"number"})";
    for (int i = 1; i < 60; ++i) {
        auto before = "{\"$ref\":\"#/$defs/a" + std::to_string(i - 1) + "\"}";
        wide += ",\"a" + std::to_string(i) + "\":{\"allOf\":[" + before + "," + before + "]}";
    }
    CHECK(outcome(wide + R"(},"$ref":"#/$defs/a59"})", "1") == "no end");
    std::string chain = R"({"$ref":"#/$defs/a0","$defs":{)";
    for (int i = 0; i < 900; ++i)
        chain +=
            "\"a" + std::to_string(i) + "\":{\"$ref\":\"#/$defs/a" + std::to_string(i + 1) + "\"},";
    CHECK(outcome(chain + R"("a900":{"type":"null"}}})", "null") == "no end");
}

TEST_CASE("what is beside a reference counts in 2020-12 and not in draft-07") {
    std::string rest =
        R"("$defs":{"n":{"type":"number"}},"properties":{"a":{"$ref":"#/$defs/n","maximum":1}}})";
    CHECK(outcome("{" + rest, R"({"a":2})") == "maximum at /a");
    CHECK(
        outcome(R"({"$schema":"http://json-schema.org/draft-07/schema#",)" + rest, R"({"a":2})") ==
        "ok"
    );
}

// Debian's json-schema-test-suite, where it is installed: every case is right or refused, none is
// wrong.
TEST_CASE("the published test suite has no case that is judged wrongly") {
    struct dialect {
        const char* folder;
        std::string_view uri;
    };
    std::size_t judged = 0;
    std::size_t refused = 0;
    for (const auto& [folder, uri] :
         {dialect{"draft7", "http://json-schema.org/draft-07/schema#"},
          dialect{"draft2020-12", "https://json-schema.org/draft/2020-12/schema"}}) {
        std::filesystem::path where =
            std::string("/usr/share/json-schema-test-suite/tests/") + folder;
        if (!std::filesystem::exists(where)) continue;
        for (const auto& file : std::filesystem::directory_iterator(where)) {
            if (file.path().extension() != ".json") continue;
            std::stringstream text;
            text << std::ifstream(file.path()).rdbuf();
            auto whole = text.str();
            REQUIRE(wire::validate(whole));
            for (auto group : wire::array_view(whole)) {
                wire::object_view fields(group);
                std::string schema(*fields.find("schema"));
                bool object = wire::kind_of(schema) == wire::kind::object;
                if (object && !wire::object_view(schema).find("$schema")) {
                    auto first = wire::first_member(schema, "$schema", wire::quote(uri));
                    schema.insert(1, first);
                }
                auto read = mcp::output_schema::read(schema);
                for (auto test : wire::array_view(*fields.find("tests"))) {
                    wire::object_view t(test);
                    if (!read) {
                        ++refused;
                        continue;
                    }
                    auto got = read->check(*t.find("data"));
                    if (!got) {
                        ++refused;
                        continue;
                    }
                    ++judged;
                    CAPTURE(file.path().string());
                    CAPTURE(*fields.find("description"));
                    CAPTURE(*t.find("description"));
                    CHECK((*got ? "false" : "true") == *t.find("valid"));
                }
            }
        }
    }
    if (judged + refused == 0) return;
    MESSAGE("judged " << judged << ", refused " << refused);
    CHECK(judged > refused);
}
