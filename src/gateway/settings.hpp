// Process-wide budgets of the operations' walk.
#pragma once

#include <chrono>
#include <cstddef>

namespace sluice::gateway {

struct settings {
    std::size_t inflight_bytes = 512 * 1024 * 1024;  // messages buffered at once, whole process
    std::chrono::milliseconds drain_timeout{30'000}; // calls may finish after SIGTERM
    std::size_t metric_tool_names =
        500; // tool labels before the rest become "other"; 0 = no tool labels
};

} // namespace sluice::gateway
