// A call whose replica is dead: its log is taken over, and its answer gone on with, or ended.
#pragma once

#include "aio/task.hpp"
#include "gateway/operation.hpp"
#include "session/tail.hpp"

#include <memory>

namespace sluice::gateway {

// False when another replica was quicker, or the store is away: then the copying goes on.
aio::task<bool> take_over_orphan(
    house& in,
    std::shared_ptr<session::session> host,
    session::tail& from,
    std::shared_ptr<session::stream> into
);

} // namespace sluice::gateway
