#include "app/client/result_text.hpp"

#include <doctest/doctest.h>

using namespace sluice::app;

TEST_SUITE("app/client/result_text") {
    TEST_CASE("content blocks become text, one after another") {
        CHECK(
            content_text(
                R"({"content":[{"type":"text","text":"a\nb"},{"type":"text","text":"c\n"}]})"
            ) == "a\nb\nc\n"
        );
        CHECK(
            content_text(R"({"content":[{"type":"image","mimeType":"image/png","data":"AAAA"}]})"
            ) == "[image, image/png, about 3 bytes]\n"
        );
        CHECK(
            content_text(R"({"content":[{"type":"resource_link","uri":"demo://x"}]})") ==
            "[resource demo://x]\n"
        );
        CHECK(
            content_text(R"({"content":[{"type":"resource","resource":{"uri":"u","text":"t"}}]})"
            ) == "t\n"
        );
    }
    TEST_CASE("structured content is shown only where there is no other") {
        CHECK(content_text(R"({"content":[],"structuredContent":{"n":1.10}})") == "{\"n\":1.10}\n");
        CHECK(
            content_text(R"({"content":[{"type":"text","text":"t"}],"structuredContent":{}})") ==
            "t\n"
        );
    }
    TEST_CASE("what initialize said") {
        auto result = R"({"capabilities":{"tools":{}},"serverInfo":{"name":"n","version":"1"}})";
        CHECK(server_title(result) == "n 1");
        CHECK(has_capability(result, "tools"));
        CHECK_FALSE(has_capability(result, "prompts"));
        CHECK(server_title("{}") == "a server without a name");
    }
    TEST_CASE("only the servers that failed are named") {
        auto outcomes = bad_outcomes(
            R"({"_meta":{"sluice/server_outcomes":{"a":{"outcome":"ok"},"b":{"outcome":"timeout"}}}})"
        );
        REQUIRE(outcomes.size() == 1);
        CHECK(outcomes[0] == "b: timeout");
        CHECK(bad_outcomes("{}").empty());
    }
}
