// The circuit of one server: after some failures in a row it is left alone for a jittered while,
// then one probe decides. Time and chance come in as arguments, so that tests need no clock.
#pragma once

#include "aio/task.hpp"
#include "upstream/server.hpp"
#include "upstream/settings.hpp"

#include <cstdint>

namespace sluice::upstream {

class circuit {
public:
    explicit circuit(circuit_settings settings) : settings_(settings) {}

    // Whether a connect or a call may be tried now. While half open only one probe is let through;
    // a probe that is never heard of again makes room for the next after open_for.
    bool admits(aio::instant now);
    // Both tell whether the state changed. `chance` is any random number: the jitter.
    bool succeeded();
    bool failed(aio::instant now, std::uint64_t chance);

    circuit_state state() const { return state_; }
    std::uint32_t failures() const { return failures_; }

private:
    circuit_settings settings_;
    circuit_state state_ = circuit_state::closed;
    std::uint32_t failures_ = 0;
    aio::instant until_{};
};

// `length` ± 20 %.
std::chrono::milliseconds jittered(std::chrono::milliseconds length, std::uint64_t chance);

// Between two starts of a process that keeps ending: `least` doubled `times` times, at most `most`.
std::chrono::milliseconds
backoff(std::chrono::milliseconds least, std::chrono::milliseconds most, std::uint32_t times);

} // namespace sluice::upstream
