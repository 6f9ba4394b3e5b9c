#include "catalog/listing.hpp"
#include "wire/json.hpp"

#include <doctest/doctest.h>

using namespace sluice;
using namespace sluice::catalog;

namespace {

verdict unchanged(const std::string&) {
    return {};
}

page read(std::string_view text, std::string_view key, const item_rule& rule = unchanged) {
    auto got = read_page(text, key, rule);
    REQUIRE(got);
    return *got;
}

void refused(std::string_view text, std::string_view key = "tools") {
    CAPTURE(text);
    auto got = read_page(text, key, unchanged);
    REQUIRE_FALSE(got);
    CHECK(got.error().code == base::errc::protocol);
}

item_rule keep_only(std::string name) {
    return [name = std::move(name)](const std::string& native) {
        verdict v;
        v.keep = native == name;
        return v;
    };
}

item_rule rename(std::string prefix) {
    return [prefix = std::move(prefix)](const std::string& native) {
        verdict v;
        v.name = prefix + native;
        return v;
    };
}

item_rule describe_as(std::string text) {
    return [text = std::move(text)](const std::string&) {
        verdict v;
        v.description = text;
        return v;
    };
}

// Numbers, spacing, escapes and member order that no DOM would keep.
constexpr std::string_view odd_item =
    "{ \"x\" : 1.0 , \"inputSchema\":{\"minimum\":1e400,\"a\":10000000000000000000001},\n \"name\" "
    ":\"t\\u00e9\" ,"
    "\"description\" : \"caf\\u00e9 \\/\" }";

} // namespace

TEST_CASE("an item that nobody changes keeps every byte") {
    auto text = "{\"tools\":[ " + std::string(odd_item) + " ]}";
    auto p = read(text, "tools");
    CHECK(p.items == std::vector<std::string>{std::string(odd_item)});
    CHECK(p.natives == std::vector<std::string>{"té"});
    CHECK_FALSE(p.changed);
    CHECK(with_items(text, "tools", p, {}) == text);
}

TEST_CASE("renaming touches the name's bytes alone") {
    auto text = "{\"tools\":[" + std::string(odd_item) + "]}";
    auto p = read(text, "tools", rename("gh-"));
    std::string want(odd_item);
    want.replace(want.find("\"t\\u00e9\""), 9, "\"gh-té\"");
    CHECK(p.items == std::vector<std::string>{want});
    CHECK(p.changed);
}

TEST_CASE("a description is replaced where it is and inserted where it is not") {
    auto text = R"({"tools":[{"description":"old","name":"a"},{"name":"b","x":1.0}]})";
    auto p = read(text, "tools", describe_as("new \"one\""));
    CHECK(p.items[0] == R"({"description":"new \"one\"","name":"a"})");
    CHECK(wire::validate(p.items[1]));
    CHECK(wire::object_view(p.items[1]).find("description") == R"("new \"one\"")");
    CHECK(wire::object_view(p.items[1]).find("x") == "1.0");
}

TEST_CASE("name and description change together, whichever stands first") {
    auto rule = [](const std::string&) { return verdict{true, "n2", "d2"}; };
    auto p = read(
        R"({"tools":[{"name":"n","description":"d"},{"description":"d","name":"n"},{"name":"n"}]})",
        "tools",
        rule
    );
    CHECK(p.items[0] == R"({"name":"n2","description":"d2"})");
    CHECK(p.items[1] == R"({"description":"d2","name":"n2"})");
    CHECK(wire::object_view(p.items[2]).find("name") == "\"n2\"");
    CHECK(wire::object_view(p.items[2]).find("description") == "\"d2\"");
}

TEST_CASE("what is filtered leaves the list and stays known by its name") {
    auto p = read(R"({"tools":[{"name":"a"},{"name":"b"},{"name":"c"}]})", "tools", keep_only("b"));
    CHECK(p.items == std::vector<std::string>{R"({"name":"b"})"});
    CHECK(p.natives == std::vector<std::string>{"a", "b", "c"});
    CHECK(p.changed);
}

TEST_CASE("resources go by uri and templates by uriTemplate") {
    CHECK(
        read(R"({"resources":[{"uri":"f:\/\/a","name":"n"}]})", "resources").natives.at(0) ==
        "f://a"
    );
    CHECK(
        read(R"({"resourceTemplates":[{"uriTemplate":"f:{x}"}]})", "resourceTemplates")
            .natives.at(0) == "f:{x}"
    );
    CHECK(read(R"({"prompts":[{"name":"p"}]})", "prompts").natives.at(0) == "p");
    refused(R"({"resources":[{"name":"n"}]})", "resources");
}

TEST_CASE("a list that is no list is refused") {
    for (auto text :
         {R"({})",
          R"({"tools":null})",
          R"({"tools":{}})",
          R"({"prompts":[]})",
          R"([])",
          R"("tools")"}) {
        refused(text);
    }
}

TEST_CASE("an item that is no object, or has no name, or one that is no string, is refused") {
    for (auto text :
         {R"({"tools":[1]})",
          R"({"tools":[{}]})",
          R"({"tools":[{"name":1}]})",
          R"({"tools":[null]})"}) {
        refused(text);
    }
}

TEST_CASE("members that decide may occur once, their names compared after unescaping") {
    refused(R"({"tools":[{"name":"a","name":"b"}]})");
    refused(R"({"tools":[{"name":"a","n\u0061me":"b"}]})");
    refused(R"({"tools":[{"name":"a","description":"x","d\u0065scription":"y"}]})");
    refused(R"({"tools":[],"tools":[{"name":"a"}]})");
    refused(R"({"tools":[],"nextCursor":"a","next\u0043ursor":"b"})");
    // Others are the host's business.
    CHECK(read(R"({"tools":[{"name":"a","x":1,"x":2}],"y":1,"y":2})", "tools").items.size() == 1);
}

TEST_CASE("a cursor is a string, kept in its exact text; null and none both mean the end") {
    CHECK_FALSE(read(R"({"tools":[]})", "tools").next_cursor);
    CHECK_FALSE(read(R"({"tools":[],"nextCursor":null})", "tools").next_cursor);
    CHECK(read(R"({"tools":[],"nextCursor":""})", "tools").next_cursor == "\"\"");
    CHECK(
        read(R"({"nextCursor":"a\u0062\/","tools":[]})", "tools").next_cursor == R"("a\u0062\/")"
    );
    for (auto text : {"1", "true", "{}", "[\"a\"]"})
        refused("{\"tools\":[],\"nextCursor\":" + std::string(text) + "}");
}

TEST_CASE("a revision of the listing is a string or an integer in _meta, else there is none") {
    CHECK(read(R"({"tools":[],"_meta":{"revision":"r1"}})", "tools").revision == "\"r1\"");
    CHECK(read(R"({"tools":[],"_meta":{"revision":7}})", "tools").revision == "7");
    for (auto text :
         {"{}", "7", "{\"revision\":1.5}", "{\"revision\":null}", "{\"revision\":{}}"}) {
        CHECK_FALSE(read("{\"tools\":[],\"_meta\":" + std::string(text) + "}", "tools").revision);
    }
}

TEST_CASE("the list and the cursor are replaced, everything beside them stays as it was") {
    std::string_view text =
        R"({ "ttlMs":1.0, "nextCursor":"up", "tools":[{"name":"a"},{"name":"b"}] , "_meta":{"k":1e2}})";
    auto p = read(text, "tools", keep_only("a"));
    CHECK(
        with_items(text, "tools", p, "\"ours\"") ==
        R"({ "ttlMs":1.0, "nextCursor":"ours", "tools":[{"name":"a"}] , "_meta":{"k":1e2}})"
    );
    auto same = read(text, "tools");
    CHECK(
        with_items(text, "tools", same, "\"ours\"") ==
        R"({ "ttlMs":1.0, "nextCursor":"ours", "tools":[{"name":"a"},{"name":"b"}] , "_meta":{"k":1e2}})"
    );
}

TEST_CASE("a merged list holds the items, the cursor if there is one, and every server's outcome") {
    std::vector<server_outcome> outcomes = {
        {"a", base::outcome::ok, 2, 0},
        {"b\"", base::outcome::auth_required, 0, 401},
        {"c", base::outcome::timeout, 0, 0}
    };
    auto text = merged_result("tools", {R"({"name":"a-x"})", R"({"name":"a-y"})"}, {}, outcomes);
    REQUIRE(wire::validate(text));
    CHECK(
        text ==
        R"({"tools":[{"name":"a-x"},{"name":"a-y"}],"_meta":{"sluice/server_outcomes":{)"
        R"("a":{"outcome":"ok","count":2},"b\"":{"outcome":"auth_required","http_status":401},)"
        R"("c":{"outcome":"timeout"}}}})"
    );
    auto paged = merged_result("tools", {}, "\"c1\"", {});
    CHECK(paged == R"({"tools":[],"nextCursor":"c1","_meta":{"sluice/server_outcomes":{}}})");
}

TEST_CASE("pages read and joined are the whole list, byte for byte") {
    std::vector<std::string> whole;
    std::vector<std::string> joined;
    for (int page_number = 0; page_number < 5; ++page_number) {
        std::string items;
        for (int i = 0; i < 7; ++i) {
            auto item = "{\"name\" : \"t" + std::to_string(page_number * 7 + i) + "\",\"n\":1.0}";
            whole.push_back(item);
            items += (i == 0 ? "" : " , ") + item;
        }
        auto p = read("{\"tools\":[" + items + "],\"nextCursor\":\"x\"}", "tools");
        joined.insert(joined.end(), p.items.begin(), p.items.end());
    }
    CHECK(joined == whole);
}
