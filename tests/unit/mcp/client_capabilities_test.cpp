#include "mcp/client_capabilities.hpp"

#include <doctest/doctest.h>

using namespace sluice::mcp;

TEST_CASE(
    "of what the host declared an upstream hears exactly what the configuration allows, verbatim"
) {
    constexpr auto host =
        R"({"roots":{"listChanged":true},"sampling":{"x":1.0},"elicitation":{ },"other":{}})";
    CHECK(declared_upstream(host, {}) == "{}");
    CHECK(
        declared_upstream(host, {true, true, true}) ==
        R"({"elicitation":{ },"sampling":{"x":1.0},"roots":{"listChanged":true}})"
    );
    CHECK(declared_upstream(host, {false, true, false}) == R"({"sampling":{"x":1.0}})");
    CHECK(declared_upstream("{}", {true, true, true}) == "{}");
}

TEST_CASE("a capability that is no object is not declared") {
    CHECK(declared_upstream(R"({"sampling":true,"roots":null})", {true, true, true}) == "{}");
    CHECK_FALSE(can_answer(R"({"sampling":true})", "sampling/createMessage", ""));
}

TEST_CASE("a host is asked only what it can answer") {
    CHECK(can_answer(R"({"sampling":{}})", "sampling/createMessage", ""));
    CHECK(can_answer(R"({"roots":{}})", "roots/list", ""));
    CHECK_FALSE(can_answer(R"({"roots":{}})", "sampling/createMessage", ""));
    CHECK_FALSE(can_answer("{}", "roots/list", ""));
    CHECK_FALSE(can_answer(R"({"tools":{}})", "tools/call", ""));
}

TEST_CASE("elicitation without modes means forms, as before there were modes") {
    CHECK(can_answer(R"({"elicitation":{}})", "elicitation/create", "form"));
    CHECK_FALSE(can_answer(R"({"elicitation":{}})", "elicitation/create", "url"));
    CHECK(can_answer(R"({"elicitation":{"url":{}}})", "elicitation/create", "url"));
    CHECK_FALSE(can_answer(R"({"elicitation":{"url":{}}})", "elicitation/create", "form"));
    CHECK(can_answer(R"({"elicitation":{"form":{},"url":{}}})", "elicitation/create", "form"));
    CHECK_FALSE(can_answer(R"({"elicitation":{"form":{},"url":{}}})", "elicitation/create", "smoke")
    );
}
