#include "app/demo/lists.hpp"
#include "wire/json.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace sluice;
using namespace sluice::app;

namespace {

wire::message ask(std::string_view method, std::string params) {
    auto m = wire::parse_message(wire::make_request("1", method, params));
    REQUIRE(m);
    return *m;
}

std::string_view member(std::string_view object, std::string_view key) {
    return wire::object_view(object).find(key).value_or("");
}

} // namespace

TEST_SUITE("app/demo/lists") {
    TEST_CASE("the pages of the catalogue joined are the whole of it, each tool once") {
        demo::options wanted{.extra_tools = 23, .page_size = 5};
        std::multiset<std::string> names;
        std::string params = "{}";
        int pages = 0;
        for (; pages < 20; ++pages) {
            auto page = demo::list_tools(ask("tools/list", params), wanted);
            REQUIRE(page.code == 0);
            REQUIRE(wire::validate(page.result));
            for (auto tool : wire::array_view(member(page.result, "tools")))
                names.emplace(member(tool, "name"));
            auto next = member(page.result, "nextCursor");
            if (next.empty()) break;
            params = "{\"cursor\":" + std::string(next) + "}";
        }
        CHECK(pages == 5);
        CHECK(names.size() == 28);
        CHECK(std::set<std::string>(names.begin(), names.end()).size() == 28);
    }
    TEST_CASE("a cursor that is not ours is refused") {
        demo::options wanted{.extra_tools = 23, .page_size = 5};
        for (auto cursor : {"\"\"", "\"x\"", "7", "\"dG9vbHNAMQ\"", "\"dG9vbHNAOTk5\""})
            CHECK(
                demo::list_tools(
                    ask("tools/list", std::string("{\"cursor\":") + cursor + "}"), wanted
                )
                    .code == -32602
            );
    }
    TEST_CASE("the extra tools are item-1 to item-N") {
        demo::options wanted{.extra_tools = 12, .page_size = 0};
        CHECK(demo::is_extra_tool("item-12", wanted));
        CHECK_FALSE(demo::is_extra_tool("item-13", wanted));
        CHECK_FALSE(demo::is_extra_tool("item-0", wanted));
        CHECK_FALSE(demo::is_extra_tool("item-01", wanted));
    }
    TEST_CASE("resources: the text, a template, and not found with the old code") {
        CHECK(demo::read_resource(ask("resources/read", R"({"uri":"demo://readme"})")).code == 0);
        auto seven = demo::read_resource(ask("resources/read", R"({"uri":"demo://numbers/7"})"));
        CHECK(
            seven.result ==
            R"({"contents":[{"uri":"demo://numbers/7","mimeType":"text/plain","text":"7"}]})"
        );
        CHECK(
            demo::read_resource(ask("resources/read", R"({"uri":"demo://none"})")).code == -32002
        );
        CHECK(demo::read_resource(ask("resources/read", "{}")).code == -32602);
    }
    TEST_CASE("completion proposes what begins with what was typed") {
        auto m = ask(
            "completion/complete",
            R"({"ref":{"type":"ref/prompt","name":"haiku"},"argument":{"name":"subject","value":"r"}})"
        );
        CHECK(
            demo::complete(m).result ==
            R"({"completion":{"values":["rain","rivers"],"total":2,"hasMore":false}})"
        );
    }
}
