#include "app/config_document.hpp"

#include <doctest/doctest.h>

using namespace sluice::app;

namespace {

std::optional<yaml_node> parse(const std::string& text, std::vector<problem>& out) {
    problem_list problems;
    auto none = [](std::string_view) -> std::optional<std::string> { return std::nullopt; };
    auto root = parse_document(text, none, problems);
    out = std::move(problems).take("t.yaml");
    return root;
}

} // namespace

TEST_CASE("a tree keeps the places of keys and values") {
    std::vector<problem> wrong;
    auto root = parse("a: 1\nb:\n  - x\n  - {c: y}\n", wrong);
    REQUIRE(root);
    CHECK(wrong.empty());
    CHECK(root->find("a")->value.text == "1");
    const auto* b = root->find("b");
    CHECK(b->where.line == 2);
    CHECK(b->value.items[1].find("c")->value.where.line == 4);
    CHECK(b->value.items[1].find("c")->value.where.column == 9);
}

TEST_CASE("a key given twice is a problem at its second place, in any map") {
    std::vector<problem> wrong;
    auto root = parse("a: 1\nb: {c: 1, d: 2, c: 3}\na: 2\n", wrong);
    REQUIRE(root);
    REQUIRE(wrong.size() == 2);
    CHECK(wrong[0].key == "b.c");
    CHECK(wrong[0].where.line == 2);
    CHECK(wrong[0].where.column == 17);
    CHECK(wrong[1].key == "a");
    CHECK(wrong[1].text == "given twice; first on line 1");
    CHECK(root->find("a")->value.text == "1");
}

TEST_CASE("aliases are expanded, and a bomb of them is refused") {
    std::vector<problem> wrong;
    auto root = parse("a: &x [1, 2]\nb: *x\n", wrong);
    REQUIRE(root);
    CHECK(root->find("b")->value.items.size() == 2);

    std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
    for (int i = 1; i < 9; ++i) {
        auto before = "*a" + std::to_string(i - 1);
        bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
        for (int k = 0; k < 10; ++k)
            bomb += before + (k < 9 ? "," : "]\n");
    }
    CHECK_FALSE(parse(bomb, wrong));
    REQUIRE(wrong.size() == 1);
    CHECK(wrong[0].text == "too many values");
}

TEST_CASE("what is not one YAML document is said so with its place") {
    std::vector<problem> wrong;
    CHECK_FALSE(parse("a: [1, 2\nb: 3\n", wrong));
    REQUIRE(wrong.size() == 1);
    CHECK(wrong[0].where.line > 0);
    CHECK_FALSE(parse("", wrong));
    CHECK(wrong.size() == 1);
    CHECK_FALSE(parse("# only a comment\n", wrong));
    CHECK(wrong.size() == 1);
    CHECK(parse("a: 1\n---\nb: 2\n", wrong));
    CHECK(wrong.size() == 1);
    CHECK_FALSE(parse(std::string(500, '['), wrong));
    CHECK(wrong.size() == 1);
    CHECK_FALSE(parse("a: *nobody\n", wrong));
    CHECK(wrong.size() == 1);
}

TEST_CASE("an empty value is nothing, a quoted empty one is a text") {
    std::vector<problem> wrong;
    auto root = parse("a:\nb: ''\nc: ~\nd: null\n", wrong);
    REQUIRE(root);
    CHECK(root->find("a")->value.is_null());
    CHECK_FALSE(root->find("b")->value.is_null());
    CHECK(root->find("c")->value.is_null());
    CHECK(root->find("d")->value.is_null());
}
