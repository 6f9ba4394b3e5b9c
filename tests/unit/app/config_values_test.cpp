#include "app/config_environment.hpp"
#include "app/config_values.hpp"

#include <doctest/doctest.h>

using namespace sluice::app;
using namespace std::chrono_literals;

TEST_CASE("durations are seconds unless they say otherwise") {
    CHECK(parse_duration("60") == 60s);
    CHECK(parse_duration("1.5") == 1500ms);
    CHECK(parse_duration("0.25s") == 250ms);
    CHECK(parse_duration("500ms") == 500ms);
    CHECK(parse_duration("60s") == 60s);
    CHECK(parse_duration("5m") == 5min);
    CHECK(parse_duration("1h") == 1h);
    CHECK(parse_duration("2 d") == 48h);
    CHECK(parse_duration("0") == 0ms);
    for (auto bad :
         {"",
          "s",
          "-1",
          "1x",
          "1.5ms",
          "1..5",
          "1h30m",
          "1e3",
          "0x10",
          "99999999999999999999",
          "4000d",
          "5M",
          " 5"}) {
        CHECK_MESSAGE(!parse_duration(bad), bad);
    }
}

TEST_CASE("sizes are bytes unless they say otherwise") {
    CHECK(parse_size("4194304") == 4194304U);
    CHECK(parse_size("4MiB") == 4194304U);
    CHECK(parse_size("0.5KiB") == 512U);
    CHECK(parse_size("1GiB") == 1073741824U);
    CHECK(parse_size("4MB") == 4000000U);
    CHECK(parse_size("32kB") == 32000U);
    for (auto bad : {"", "MiB", "4mib", "4M", "-1", "1.0001KiB", "999999999999GiB"}) {
        CHECK_MESSAGE(!parse_size(bad), bad);
    }
}

TEST_CASE("what is shown reads back as the same") {
    for (auto value : {1ms, 50ms, 1500ms, 15000ms, 60000ms, 3600000ms, 28800000ms, 0ms}) {
        CHECK(parse_duration(show_duration(value)) == value);
    }
    for (std::size_t value : {1U, 1000U, 1024U, 8192U, 4194304U, 536870912U}) {
        CHECK(parse_size(show_size(value)) == value);
    }
    CHECK(show_duration(8h) == "8h");
    CHECK(show_duration(90s) == "90s");
    CHECK(show_size(4194304) == "4MiB");
}

TEST_CASE("switches are true and false, not yes and on") {
    CHECK(parse_switch("true") == true);
    CHECK(parse_switch("False") == false);
    CHECK_FALSE(parse_switch("yes"));
    CHECK_FALSE(parse_switch("1"));
}

namespace {

substituted fill(std::string_view text) {
    return substitute(text, [](std::string_view name) -> std::optional<std::string> {
        if (name == "A") return "${B}";
        if (name == "B") return "bee";
        if (name == "EMPTY") return "";
        return std::nullopt;
    });
}

} // namespace

TEST_CASE("variables are put in, once") {
    CHECK(fill("x${B}y${B}").text == "xbeeybee");
    CHECK(fill("${A}").text == "${B}");
    CHECK(fill("${EMPTY}").text.empty());
    CHECK(fill("os.environ/B").text == "bee");
    CHECK(fill("see os.environ/B").text == "see os.environ/B");
    CHECK(fill("$B $ {B} $").text == "$B $ {B} $");
    CHECK(fill("${B}").from_environment);
    CHECK_FALSE(fill("plain").from_environment);
}

TEST_CASE("two dollars stand for one") {
    CHECK(fill("$${B}").text == "${B}");
    CHECK(fill("a$${B}${B}").text == "a${B}bee");
    CHECK(fill("$${").text == "${");
    CHECK_FALSE(fill("$${B}").from_environment);
}

TEST_CASE("a missing variable is complained of by name") {
    auto got = fill("${NOPE} and ${B} and os");
    REQUIRE(got.complaints.size() == 1);
    CHECK(got.complaints[0] == "environment variable NOPE is not set");
    CHECK(fill("os.environ/NOPE").complaints.size() == 1);
    CHECK(fill("${X-USER}").complaints.size() == 1);
    CHECK(fill("${}").complaints.size() == 1);
    CHECK(fill("${B").complaints.size() == 1);
    CHECK(fill("${NOPE}${NOPE2}").complaints.size() == 2);
}
