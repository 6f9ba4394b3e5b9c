#include "upstream/circuit.hpp"

#include <algorithm>

namespace sluice::upstream {

bool circuit::admits(aio::instant now) {
    if (state_ == circuit_state::closed) return true;
    if (now < until_) return false;
    state_ = circuit_state::half_open;
    until_ = now + settings_.open_for;
    return true;
}

bool circuit::succeeded() {
    bool changed = state_ != circuit_state::closed;
    state_ = circuit_state::closed;
    failures_ = 0;
    return changed;
}

bool circuit::failed(aio::instant now, std::uint64_t chance) {
    ++failures_;
    if (settings_.failures == 0) return false;
    bool opens = state_ == circuit_state::half_open ||
                 (state_ == circuit_state::closed && failures_ >= settings_.failures);
    if (!opens) return false;
    state_ = circuit_state::open;
    until_ = now + jittered(settings_.open_for, chance);
    return true;
}

std::chrono::milliseconds jittered(std::chrono::milliseconds length, std::uint64_t chance) {
    auto fifth = static_cast<std::uint64_t>(length.count()) / 5;
    if (fifth == 0) return length;
    auto shift = static_cast<std::int64_t>(chance % (2 * fifth + 1));
    return length + std::chrono::milliseconds(shift - static_cast<std::int64_t>(fifth));
}

std::chrono::milliseconds
backoff(std::chrono::milliseconds least, std::chrono::milliseconds most, std::uint32_t times) {
    auto wait = least;
    for (std::uint32_t i = 0; i < times && wait < most; ++i)
        wait *= 2;
    return std::min(wait, most);
}

} // namespace sluice::upstream
