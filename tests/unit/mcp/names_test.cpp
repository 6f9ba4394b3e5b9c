#include "mcp/names.hpp"

#include <doctest/doctest.h>

#include <random>
#include <set>

using namespace sluice::mcp;

namespace {

using dice = std::mt19937;

std::size_t pick(dice& d, std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(0, most)(d);
}

// Prefixes as the configuration allows them: none begins with another and the separator.
const std::vector<std::string_view> prefixes = {"a", "ab", "a_b", "git-hub", "github", "x.y", "x"};

// One to four bytes each, hyphens and the separator often.
std::string some_native(dice& d, std::size_t most) {
    constexpr std::string_view letters[] = {
        "-", "-", "_", "a", "b", "z", "9", ".", "/", "é", "ß", "語", "😀", " "
    };
    std::string out;
    for (std::size_t n = pick(d, most); n > 0; --n)
        out += letters[pick(d, std::size(letters) - 1)];
    return out;
}

bool is_whole_utf8(std::string_view text) {
    std::size_t i = 0;
    while (i < text.size()) {
        auto c = static_cast<unsigned char>(text[i]);
        std::size_t length = c < 0x80 ? 1 : c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC0 ? 2 : 0;
        if (length == 0 || i + length > text.size()) return false;
        for (std::size_t k = 1; k < length; ++k) {
            if ((static_cast<unsigned char>(text[i + k]) & 0xC0U) != 0x80U) return false;
        }
        i += length;
    }
    return true;
}

} // namespace

TEST_CASE("a public name leads back to its prefix and its native name") {
    naming rule;
    dice d(2);
    for (int i = 0; i < 20000; ++i) {
        auto server = pick(d, prefixes.size() - 1);
        auto native = some_native(d, 30);
        auto shown = public_name(rule, prefixes[server], native);
        auto split = split_public_name(rule, prefixes, shown);
        REQUIRE(split);
        REQUIRE(split->prefix_index == server);
        if (prefixes[server].size() + 1 + native.size() <= rule.max_length) {
            REQUIRE(split->native == native);
        } else {
            REQUIRE(split->shortened);
        }
    }
}

TEST_CASE("names round trip with longer separators, also when natives hold them") {
    dice d(3);
    for (std::string separator : {"__", ".", "/", "-_-"}) {
        naming rule{separator, 64};
        for (int i = 0; i < 3000; ++i) {
            auto native = some_native(d, 8) + separator + some_native(d, 8);
            auto shown = public_name(rule, "github", native);
            auto split = split_public_name(rule, prefixes, shown);
            REQUIRE(split);
            REQUIRE(prefixes[split->prefix_index] == "github");
            if (!split->shortened) REQUIRE(split->native == native);
        }
    }
}

TEST_CASE("the longest known prefix wins, never the first hyphen") {
    naming rule;
    std::vector<std::string_view> known = {"git", "git-hub", "git-hub-2"};
    auto split = split_public_name(rule, known, "git-hub-create-issue");
    REQUIRE(split);
    CHECK(split->prefix_index == 1);
    CHECK(split->native == "create-issue");
    CHECK(split_public_name(rule, known, "git-x")->prefix_index == 0);
    CHECK(split_public_name(rule, known, "git-hub-2-x")->prefix_index == 2);
}

TEST_CASE("a name without a known prefix and the separator after it leads nowhere") {
    naming rule;
    std::vector<std::string_view> known = {"git"};
    for (auto name : {"", "git", "github-x", "hub-x", "-git-x", "Git-x"}) {
        CHECK_FALSE(split_public_name(rule, known, name));
    }
    CHECK_FALSE(split_public_name(rule, {}, "git-x"));
}

TEST_CASE("a name of exactly the bound is left alone, one byte more is shortened") {
    naming rule;
    std::string fits(62, 'n');
    CHECK(public_name(rule, "a", fits) == "a-" + fits);
    CHECK_FALSE(is_shortened(rule, public_name(rule, "a", fits)));
    auto shortened = public_name(rule, "a", fits + "n");
    CHECK(shortened.size() == 64);
    CHECK(is_shortened(rule, shortened));
    CHECK(shortened.starts_with("a-nnn"));
}

TEST_CASE("a shortened name never changes, for hosts keep it in their settings") {
    naming rule;
    CHECK(
        public_name(rule, "github", std::string(80, 'x')) ==
        "github-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_419d6fa1bd"
    );
}

TEST_CASE("shortened names are whole characters, within the bound, and know what they are") {
    naming rule;
    dice d(4);
    for (int i = 0; i < 20000; ++i) {
        auto prefix = prefixes[pick(d, prefixes.size() - 1)];
        auto native = some_native(d, 60);
        auto shown = public_name(rule, prefix, native);
        REQUIRE(shown.size() <= rule.max_length);
        REQUIRE(is_whole_utf8(shown));
        REQUIRE(is_shortened(rule, shown) == (prefix.size() + 1 + native.size() > rule.max_length));
    }
}

TEST_CASE("long names that differ only beyond the cut stay different") {
    naming rule;
    std::set<std::string> seen;
    for (int i = 0; i < 5000; ++i) {
        seen.insert(public_name(rule, "a", std::string(70, 'x') + std::to_string(i)));
    }
    CHECK(seen.size() == 5000);
}

TEST_CASE("a cut never reaches back through bytes that are no text") {
    naming rule;
    auto shown = public_name(rule, "a", std::string(100, '\x80'));
    CHECK(shown.starts_with("a-"));
    CHECK(is_shortened(rule, shown));
}

TEST_CASE(
    "names that merely end like a hash are not taken for shortened ones unless they are as long"
) {
    naming rule;
    CHECK_FALSE(is_shortened(rule, "a-tool_0123456789"));
    CHECK_FALSE(is_shortened(rule, std::string(53, 'x') + "_012345678g"));
    CHECK_FALSE(is_shortened(rule, std::string(53, 'x') + "-0123456789"));
    CHECK(is_shortened(rule, std::string(53, 'x') + "_0123456789"));
    CHECK(is_shortened(rule, std::string(50, 'x') + "_0123456789"));
    CHECK_FALSE(is_shortened(rule, std::string(49, 'x') + "_0123456789"));
    CHECK_FALSE(is_shortened(rule, std::string(54, 'x') + "_0123456789"));
}
