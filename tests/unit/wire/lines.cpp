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
    CHECK(lines.rest() == "four");
    CHECK(lines.rest().empty());
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
