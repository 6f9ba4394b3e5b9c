#include "catalog/instructions.hpp"
#include "wire/json.hpp"

#include <doctest/doctest.h>

using namespace sluice;
using namespace sluice::catalog;

namespace {

std::string merged(const std::vector<std::string_view>& each, deliverable can = {true, true}) {
    auto text = merge_capabilities(each, can);
    REQUIRE(wire::validate(text));
    return text;
}

} // namespace

TEST_CASE("instructions stand under their servers' headings, and who says nothing has none") {
    CHECK(
        merge_instructions({{"a", "Use me."}, {"b", ""}, {"c", "And me."}}, 1000) ==
        "## a\n\nUse me.\n\n## c\n\nAnd me."
    );
    CHECK(merge_instructions({}, 1000).empty());
    CHECK(merge_instructions({{"a", ""}}, 1000).empty());
}

TEST_CASE("instructions of exactly the cap are whole, one byte more and they are cut and say so") {
    auto whole = merge_instructions({{"a", std::string(200, 'x')}}, 1000);
    CHECK(merge_instructions({{"a", std::string(200, 'x')}}, whole.size()) == whole);
    auto cut = merge_instructions({{"a", std::string(200, 'x')}}, whole.size() - 1);
    CHECK(cut.size() <= whole.size() - 1);
    CHECK(cut.starts_with("## a\n\nxxx"));
    CHECK(cut.ends_with("limit.)"));
}

TEST_CASE("a cut is never inside a character, and never over the cap, however small it is") {
    std::string text;
    for (int i = 0; i < 50; ++i)
        text += "aé語😀";
    for (std::size_t cap = 0; cap < 400; ++cap) {
        auto out = merge_instructions({{"a", text}}, cap);
        REQUIRE(out.size() <= cap);
        REQUIRE(wire::validate(wire::quote(out)));
        REQUIRE(wire::unescape(wire::quote(out)) == out);
    }
}

TEST_CASE("capabilities are the union of what the upstreams have") {
    CHECK(merged({R"({"tools":{}})", R"({"prompts":{}})"}) == R"({"prompts":{},"tools":{}})");
    CHECK(
        merged({R"({"logging":{},"completions":{}})", "{}"}) == R"({"logging":{},"completions":{}})"
    );
    CHECK(merged({}) == "{}");
}

TEST_CASE("flags are promised when one upstream has them and the gateway can deliver them") {
    std::vector<std::string_view> each = {
        R"({"tools":{"listChanged":true},"resources":{"subscribe":true}})",
        R"({"tools":{"listChanged":false},"resources":{"listChanged":true}})"
    };
    CHECK(
        merged(each) ==
        R"({"resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true}})"
    );
    CHECK(merged(each, {false, false}) == R"({"resources":{},"tools":{}})");
    CHECK(merged(each, {false, true}) == R"({"resources":{"subscribe":true},"tools":{}})");
}

TEST_CASE("what the gateway cannot carry is not promised") {
    auto text =
        merged({R"({"tools":{},"tasks":{"list":{}},"experimental":{"x":{}},"future":{}})", "{}"});
    CHECK(text == R"({"tools":{}})");
}

TEST_CASE("a single server's experimental extensions are its own, exact text") {
    CHECK(
        merged({R"({"experimental":{ "x" : {"n":1.0} },"tools":{}})"}) ==
        R"({"tools":{},"experimental":{ "x" : {"n":1.0} }})"
    );
}

TEST_CASE("a capability counts when it is an object at the top") {
    CHECK(has_capability(R"({"tools":{}})", "tools"));
    CHECK_FALSE(has_capability(R"({"tools":null})", "tools"));
    CHECK_FALSE(has_capability(R"({"x":{"tools":{}}})", "tools"));
    CHECK_FALSE(has_capability("{}", "tools"));
    CHECK_FALSE(has_capability("", "tools"));
}
