#include "mcp/log_level.hpp"

#include <doctest/doctest.h>

#include <array>

using namespace sluice::mcp;

TEST_CASE("the eight levels rise from debug to emergency") {
    constexpr std::array<const char*, 8> levels = {
        "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"
    };
    for (std::size_t i = 0; i < levels.size(); ++i) {
        CHECK(is_log_level(levels[i]));
        for (std::size_t j = 0; j < levels.size(); ++j)
            CHECK(is_below(levels[i], levels[j]) == (i < j));
    }
}

TEST_CASE("an unknown level is no level and is never held back") {
    for (auto text : {"", "warn", "INFO", "trace"}) {
        CHECK_FALSE(is_log_level(text));
        CHECK_FALSE(is_below(text, "emergency"));
        CHECK_FALSE(is_below("debug", text));
    }
}
