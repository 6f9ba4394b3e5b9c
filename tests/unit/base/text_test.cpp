#include "base/text.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace sluice;

namespace {

std::string some_bytes(std::mt19937& dice, std::size_t most) {
    std::string out(std::uniform_int_distribution<std::size_t>(0, most)(dice), '\0');
    for (auto& c : out)
        c = static_cast<char>(std::uniform_int_distribution<int>(0, 255)(dice));
    return out;
}

} // namespace

TEST_CASE("base64 and base64url give the texts of RFC 4648") {
    CHECK(base::base64("") == "");
    CHECK(base::base64("f") == "Zg==");
    CHECK(base::base64("fo") == "Zm8=");
    CHECK(base::base64("foobar") == "Zm9vYmFy");
    CHECK(base::base64url("fo") == "Zm8");
    CHECK(base::base64("\xFB\xFF\xBF") == "+/+/");
    CHECK(base::base64url("\xFB\xFF\xBF") == "-_-_");
}

TEST_CASE("whatever is written as base64url reads back the same") {
    std::mt19937 dice(1);
    for (int i = 0; i < 2000; ++i) {
        auto bytes = some_bytes(dice, 70);
        auto text = base::base64url(bytes);
        REQUIRE(text.find('=') == std::string::npos);
        REQUIRE(base::from_base64url(text) == bytes);
    }
}

TEST_CASE("only the one canonical base64url text of some bytes is read") {
    CHECK(base::from_base64url("Zg") == "f");
    CHECK_FALSE(base::from_base64url("Zg==")); // padding
    CHECK_FALSE(base::from_base64url("Zh"));   // a stray bit after the last byte
    CHECK_FALSE(base::from_base64url("Zm9"));  // two stray bits
    CHECK_FALSE(base::from_base64url("Z"));    // six bits are no byte
    CHECK_FALSE(base::from_base64url("Zm9vZ"));
    CHECK_FALSE(base::from_base64url("+/+/")); // the other alphabet
    CHECK_FALSE(base::from_base64url("Zm 8"));
    CHECK_FALSE(base::from_base64url(std::string_view("Zg\0A", 4)));
}

TEST_CASE("no two texts read as the same bytes") {
    constexpr std::string_view alphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    std::size_t readable = 0;
    for (char a : alphabet) {
        for (char b : alphabet) {
            std::string text = {a, b};
            auto bytes = base::from_base64url(text);
            if (!bytes) continue;
            ++readable;
            REQUIRE(base::base64url(*bytes) == text);
        }
    }
    CHECK(readable == 256);
}

TEST_CASE("hex is two lower-case digits a byte") {
    CHECK(base::hex(std::string_view("\x00\x7f\x80\xff", 4)) == "007f80ff");
}

TEST_CASE("FNV-1a gives the published values, today and in every later version") {
    CHECK(base::fnv1a("") == 0xcbf29ce484222325ULL);
    CHECK(base::fnv1a("a") == 0xaf63dc4c8601ec8cULL);
    CHECK(base::fnv1a("foobar") == 0x85944171f73967e8ULL);
    CHECK(base::fnv1a("\xff") != base::fnv1a("\x7f"));
}

TEST_CASE("the nearest word is found within a third of the word's length") {
    std::vector<std::string> words = {"listen", "limits", "timeouts", "keys"};
    CHECK(base::nearest("lisen", words) == "listen");
    CHECK(base::nearest("timeout", words) == "timeouts");
    CHECK(base::nearest("limit", words) == "limits");
    CHECK(base::nearest("key", words) == "keys");
    CHECK_FALSE(base::nearest("mcp_servers", words));
    CHECK_FALSE(base::nearest("kxxs", words)); // two edits in four letters
}

TEST_CASE("of equally near words the first one is suggested") {
    std::vector<std::string> words = {"bat", "cat"};
    CHECK(base::nearest("rat", words) == "bat");
}

TEST_CASE("splitting keeps empty parts, so joining gives the text back") {
    for (std::string text : {"", ",", "a", "a,b", ",a,,b,"}) {
        auto parts = base::split(text, ',');
        std::vector<std::string> owned(parts.begin(), parts.end());
        CHECK(base::join(owned, ",") == text);
    }
    CHECK(base::split("a,,b", ',').size() == 3);
}

TEST_CASE("trimming takes spaces and tabs, nothing else") {
    CHECK(base::trim(" \t a b\t ") == "a b");
    CHECK(base::trim("\r\n") == "\r\n");
    CHECK(base::trim(" \t ") == "");
}

TEST_CASE("letters beyond ASCII keep their case") {
    CHECK(base::lower("ÀB") == "Àb");
    CHECK(base::iequals("Host", "hOST"));
    CHECK_FALSE(base::iequals("à", "À"));
    CHECK_FALSE(base::iequals("[", "{"));
}

TEST_CASE("an unsigned number is digits only and must fit") {
    CHECK(base::parse_unsigned("0") == 0U);
    CHECK(base::parse_unsigned("18446744073709551615") == 18446744073709551615ULL);
    CHECK_FALSE(base::parse_unsigned("18446744073709551616"));
    for (auto text : {"", "+1", "-1", " 1", "1 ", "0x1", "1.0"})
        CHECK_FALSE(base::parse_unsigned(text));
}
