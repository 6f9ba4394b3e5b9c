#include "wire/lines.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace sluice::wire;

namespace {

std::vector<std::string> drain(line_splitter& lines) {
    std::vector<std::string> out;
    while (auto line = lines.next())
        out.push_back(*std::move(line));
    return out;
}

} // namespace

TEST_CASE("lines come out whole, CRLF as LF, empty ones skipped") {
    line_splitter lines(100);
    lines.feed("one\ntwo\r\n\n\r\nth");
    CHECK(drain(lines) == std::vector<std::string>{"one", "two"});
    lines.feed("ree\nfour");
    CHECK(drain(lines) == std::vector<std::string>{"three"});
    CHECK(lines.beginning() == "four");
}

TEST_CASE("a carriage return inside a line stays") {
    line_splitter lines(100);
    lines.feed("{\r \"a\":1}\n");
    CHECK(drain(lines) == std::vector<std::string>{"{\r \"a\":1}"});
}

TEST_CASE("any split of the bytes gives the same lines") {
    const std::string whole = "a\r\nbb\n\nccc\r\n{\"x\":\"\\n\"}\nend\n";
    line_splitter at_once(100);
    at_once.feed(whole);
    const auto expected = drain(at_once);
    for (std::size_t i = 0; i <= whole.size(); ++i) {
        for (std::size_t j = i; j <= whole.size(); ++j) {
            line_splitter lines(100);
            std::vector<std::string> got;
            for (auto part : {whole.substr(0, i), whole.substr(i, j - i), whole.substr(j)}) {
                lines.feed(part);
                for (auto& line : drain(lines))
                    got.push_back(std::move(line));
            }
            REQUIRE(got == expected);
        }
    }
}

TEST_CASE("a line at the limit passes, one byte more ends the stream") {
    line_splitter fits(5);
    fits.feed("12345\n");
    CHECK(drain(fits) == std::vector<std::string>{"12345"});
    CHECK_FALSE(fits.too_big());

    line_splitter ended(5);
    ended.feed("ok\n123456\nok\n");
    CHECK(drain(ended) == std::vector<std::string>{"ok"});
    CHECK(ended.too_big());
    ended.feed("more\n");
    CHECK(drain(ended).empty());

    line_splitter endless(5);
    endless.feed("123456");
    CHECK(drain(endless).empty());
    CHECK(endless.too_big());
}

TEST_CASE("a skipped line is dropped to its end, those behind it are given out") {
    line_splitter lines(100);
    lines.feed("one\nlong");
    CHECK(drain(lines) == std::vector<std::string>{"one"});
    CHECK(lines.beginning() == "long");
    lines.skip();
    lines.feed(" and longer");
    CHECK(drain(lines).empty());
    CHECK(lines.beginning().empty());
    lines.feed(" still\ntwo\nthr");
    CHECK(drain(lines) == std::vector<std::string>{"two"});
    lines.feed("ee\n");
    CHECK(drain(lines) == std::vector<std::string>{"three"});
}

TEST_CASE("a skipped line has no limit of size") {
    line_splitter lines(5);
    lines.feed("12345");
    CHECK(drain(lines).empty());
    lines.skip();
    for (int i = 0; i < 9; ++i) {
        lines.feed("12345");
        CHECK(drain(lines).empty());
    }
    lines.feed("\nok\n");
    CHECK(drain(lines) == std::vector<std::string>{"ok"});
    CHECK_FALSE(lines.too_big());
}

TEST_CASE("what follows a large line is kept") {
    const std::string large(200'000, 'x');
    line_splitter lines(300'000);
    lines.feed(large + "\nnext\nrest");
    CHECK(drain(lines) == std::vector<std::string>{large, "next"});
    lines.feed("\n");
    CHECK(drain(lines) == std::vector<std::string>{"rest"});
}
