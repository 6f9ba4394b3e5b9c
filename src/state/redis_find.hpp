// Where the server to talk to is: always the same one, or the master that sentinels name. Internal
// to state.
#pragma once

#include "state/redis_node.hpp"

namespace sluice::state {

// Both refer to `around`, which must outlive them.
redis_finder find_always(redis_surroundings& around);
// Asks the sentinels in turn, the one that answered last first. Whoever connects checks that it got
// a master: a sentinel may not know of a failover yet.
redis_finder find_master(redis_surroundings& around);

} // namespace sluice::state
