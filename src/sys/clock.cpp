#include "sys/clock.hpp"

#include <chrono>
#include <optional>

namespace sluice::sys {

namespace {

std::optional<std::int64_t>& wound() {
    static std::optional<std::int64_t> at;
    return at;
}

} // namespace

std::int64_t wall_ms() {
    if (wound()) return *wound();
    auto since = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

hand_wound_clock::hand_wound_clock(std::int64_t start_ms) {
    wound() = start_ms;
}
hand_wound_clock::~hand_wound_clock() {
    wound().reset();
}
void hand_wound_clock::advance(std::int64_t by_ms) {
    *wound() += by_ms;
}

} // namespace sluice::sys
