#include "mcp/url_required.hpp"
#include "wire/json.hpp"

#include <doctest/doctest.h>

using namespace sluice;

TEST_CASE("pages that a server wants visited become a tool's error in words, each URL in full") {
    auto result = mcp::url_required_result(
        R"({"code":-32042,"message":"Log \u0069n","data":{"elicitations":[)"
        R"({"mode":"url","elicitationId":"1","url":"https://a.example/?x=\"","message":"First"},)"
        R"({"url":7},{"url":"https://b.example/"},3]}})"
    );
    REQUIRE(wire::validate(result));
    CHECK(
        result ==
        R"({"content":[{"type":"text","text":"Log in\nFirst: https://a.example/?x=\"\nhttps://b.example/\n)"
        R"(The person should visit what they trust of this in a browser; then call the tool again."}],"isError":true})"
    );
}

TEST_CASE("without pages or a message it is an error all the same") {
    for (auto error :
         {R"({"code":-32042})", R"({"code":-32042,"data":[]})", R"({"data":{"elicitations":{}}})"
         }) {
        auto result = mcp::url_required_result(error);
        CHECK(wire::validate(result));
        CHECK(result.find("\"isError\":true") != result.npos);
    }
}

TEST_CASE("where a result cannot say that it failed the same words are an error's message") {
    auto text = mcp::url_required_message(
        R"({"code":-32042,"message":"Log in","data":{"elicitations":[{"url":"https://a.example/"}]}})"
    );
    CHECK(
        text == "Log in\nhttps://a.example/\n"
                "The person should visit what they trust of this in a browser; then ask again."
    );
}
