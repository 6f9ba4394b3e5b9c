// Facts that outlive a request or a replica: immutable records under keys, each with a time to
// live. Engines: memory (default, bounded; one replica). Used by gateway for listing positions.
#pragma once

#include "aio/task.hpp"
#include "base/result.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace sluice::state {

class store {
public:
    virtual ~store() = default;

    // errc::unreachable when the store is away, errc::too_large for a value over the engine's
    // bound.
    virtual aio::task<base::result<void>>
    put(std::string key, std::string value, std::chrono::milliseconds ttl) = 0;
    // Nothing when the key was never put, ran out, or was evicted.
    virtual aio::task<base::result<std::optional<std::string>>> get(std::string key) = 0;
};

struct memory_bounds {
    std::size_t max_entries = 100'000;
    std::size_t max_bytes = 64 * 1024 * 1024;
};

// Over its bounds the oldest entries go first.
std::unique_ptr<store> make_memory_store(memory_bounds bounds = {});

} // namespace sluice::state
