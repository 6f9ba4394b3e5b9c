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
    CHECK_FALSE(can_answer(R"({"sampling":true})", "sampling/createMessage", "").ok());
}

TEST_CASE("a host is asked only what it can answer") {
    CHECK(can_answer(R"({"sampling":{}})", "sampling/createMessage", "").ok());
    CHECK(can_answer(R"({"roots":{}})", "roots/list", "").ok());
    CHECK_FALSE(can_answer(R"({"roots":{}})", "sampling/createMessage", "").ok());
    CHECK_FALSE(can_answer("{}", "roots/list", "").ok());
    CHECK_FALSE(can_answer(R"({"tools":{}})", "tools/call", "").ok());
}

TEST_CASE("elicitation without modes means forms, as before there were modes") {
    auto can = [](const char* declared, const char* params) {
        return can_answer(declared, "elicitation/create", params).ok();
    };
    constexpr auto form = R"({"mode":"form"})";
    constexpr auto url = R"({"mode":"\u0075rl"})";
    CHECK(can(R"({"elicitation":{}})", "{}"));
    CHECK(can(R"({"elicitation":{}})", form));
    CHECK_FALSE(can(R"({"elicitation":{}})", url));
    CHECK(can(R"({"elicitation":{"url":{}}})", url));
    CHECK_FALSE(can(R"({"elicitation":{"url":{}}})", form));
    CHECK_FALSE(can(R"({"elicitation":{"url":{}}})", "{}"));
    CHECK(can(R"({"elicitation":{"form":{},"url":{}}})", form));
}

TEST_CASE("params that leave open what is elicited are wrong, whatever the host declared") {
    constexpr auto all = R"({"elicitation":{"form":{},"url":{}}})";
    for (const auto* params :
         {R"({"mode":"form","mode":"url"})",
          R"({"m\u006fde":"url","mode":"form"})",
          R"({"message":"a","message":"b"})",
          R"({"mode":["url"]})",
          R"({"mode":null})",
          R"({"mode":""})",
          R"({"mode":"smoke"})"}) {
        CAPTURE(params);
        auto can = can_answer(all, "elicitation/create", params);
        REQUIRE_FALSE(can.ok());
        CHECK(can.error().code == sluice::base::errc::invalid_params);
    }
}

TEST_CASE("a host that did not declare sampling.tools is sent no tools") {
    auto can = [](const char* declared, const char* params) {
        return can_answer(declared, "sampling/createMessage", params).ok();
    };
    for (const auto* params :
         {R"({"tools":[]})", R"({"toolChoice":{}})", R"({"t\u006fols":[{}],"messages":[]})"}) {
        CAPTURE(params);
        CHECK_FALSE(can(R"({"sampling":{}})", params));
        CHECK_FALSE(can(R"({"sampling":{"tools":true}})", params));
        CHECK(can(R"({"sampling":{"tools":{}}})", params));
    }
    CHECK(can(R"({"sampling":{}})", R"({"messages":[{"tools":1}]})"));
}
