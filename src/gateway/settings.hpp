// Process-wide budgets of the operations' walk.
#pragma once

#include "base/secret.hpp"

#include <chrono>
#include <cstddef>
#include <vector>

namespace sluice::gateway {

struct settings {
    std::size_t inflight_bytes = 512 * 1024 * 1024;  // messages buffered at once, whole process
    std::chrono::milliseconds drain_timeout{30'000}; // calls may finish after SIGTERM
    // Newest first; the newest seals cursors, every one opens them. Empty = no list can be
    // continued.
    std::vector<base::secret> salt_keys;
    std::chrono::milliseconds cursor_lifetime{std::chrono::minutes(10)}; // from page 1
    std::size_t metric_tool_names =
        500; // tool labels before the rest become "other"; 0 = no tool labels
};

} // namespace sluice::gateway
