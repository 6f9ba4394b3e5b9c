#include "app/client/terminal.hpp"

#include <doctest/doctest.h>

using namespace sluice::app;

TEST_SUITE("app/client/terminal") {
    TEST_CASE("control characters of a server never reach the terminal") {
        CHECK(harmless("a\x1b[31mb") == "a\xef\xbf\xbd[31mb");
        CHECK(harmless("a\nb\tc") == "a\nb\tc");
        CHECK(one_line("a\nb\r") == "a b\xef\xbf\xbd");
        CHECK(harmless("\xc2\x9b") == "\xef\xbf\xbd");     // C1 control sequence introducer
        CHECK(harmless("\xe2\x80\xae") == "\xef\xbf\xbd"); // right-to-left override
        CHECK(harmless("Grüße") == "Grüße");
    }
    TEST_CASE("text is cut by columns, not by bytes") {
        CHECK(columns_of("Grüße") == 5);
        CHECK(columns_of("日本") == 4);
        CHECK(fit("Grüße", 5) == "Grüße");
        CHECK(fit("Grüße!", 5) == "Grüß…");
        CHECK(fit("日本語", 4) == "日…");
    }
    TEST_CASE("two columns are aligned and the right one is wrapped") {
        terminal narrow;
        narrow.width = 40;
        std::string text = two_columns(
            narrow,
            {{"echo", "Returns its arguments byte for byte"}, {"countdown", "Counts"}, {"fail", ""}}
        );
        CHECK(
            text == "  echo       Returns its arguments byte\n"
                    "             for byte\n"
                    "  countdown  Counts\n"
                    "  fail\n"
        );
    }
    TEST_CASE("a name wider than its column gets a line of its own") {
        terminal narrow;
        narrow.width = 40;
        std::string text =
            two_columns(narrow, {{"a-name-that-is-longer-than-half", "what it does"}});
        CHECK(
            text == "  a-name-that-is-longer-than-half\n"
                    "                        what it does\n"
        );
    }
    TEST_CASE("colours only where they are wanted") {
        terminal plain_one;
        CHECK(painted(plain_one, paint::red, "x") == "x");
        terminal bright;
        bright.colour = true;
        CHECK(painted(bright, paint::red, "x") == "\x1b[31mx\x1b[0m");
    }
}
