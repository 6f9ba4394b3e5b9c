// What an operator sees of the sessions, and ends: of this process, and where records are shared of
// every replica. A session is named by a digest, for its id is what its host is known by. Used by
// app for the admin listener.
#pragma once

#include "aio/task.hpp"
#include "base/result.hpp"
#include "session/registry.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace sluice::session {

struct seen_session {
    std::string digest; // sixteen hex digits
    identity who;
    std::string key_name;              // empty: its key is not configured any more
    std::chrono::milliseconds idle{0}; // as the store knows it: up to 30 s late
};

class overseer {
public:
    overseer(registry& all, registry::principals principals)
        : all_(all), principals_(std::move(principals)) {}

    // errc::unreachable while the store is away.
    aio::task<base::result<std::vector<seen_session>>> look();
    // Ends for all replicas those that `which` chooses; how many.
    aio::task<base::result<std::size_t>> end(std::function<bool(const seen_session&)> which);

private:
    using by_key = std::map<std::string, seen_session>;

    by_key look_here() const;
    aio::task<base::result<void>> look_in_store(std::string principal, by_key& found);

    registry& all_;
    registry::principals principals_;
};

} // namespace sluice::session
