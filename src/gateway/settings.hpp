// Process-wide budgets of the operations' walk.
#pragma once

#include "base/secret.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace sluice::gateway {

// This replica among those that share the store.
struct peer_settings {
    std::string address;                    // where the others reach it, host:port
    std::chrono::milliseconds lease{5'000}; // after so long without a sign of life one is dead
};

struct settings {
    std::size_t inflight_bytes = 512 * 1024 * 1024;  // messages buffered at once, whole process
    std::chrono::milliseconds drain_timeout{30'000}; // calls may finish after SIGTERM
    // Newest first; the newest seals cursors, every one opens them. Empty = no list can be
    // continued.
    std::vector<base::secret> salt_keys;
    std::chrono::milliseconds cursor_lifetime{std::chrono::minutes(10)}; // from page 1
    std::size_t metric_tool_names =
        500; // tool labels before the rest become "other"; 0 = no tool labels
    peer_settings peer;
};

} // namespace sluice::gateway
