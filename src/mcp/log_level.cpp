#include "mcp/log_level.hpp"

#include <algorithm>
#include <array>

namespace sluice::mcp {

namespace {

constexpr std::array<std::string_view, 8> levels = {
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"
};

auto rank(std::string_view level) {
    return std::find(levels.begin(), levels.end(), level);
}

} // namespace

bool is_log_level(std::string_view level) {
    return rank(level) != levels.end();
}

bool is_below(std::string_view level, std::string_view wanted) {
    return is_log_level(level) && is_log_level(wanted) && rank(level) < rank(wanted);
}

} // namespace sluice::mcp
