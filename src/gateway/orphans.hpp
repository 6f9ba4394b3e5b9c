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

// The host has called off a call whose log another replica had and which could not be gone on with:
// its upstream is told, as far as the log says who it is.
aio::task<> call_off_at_upstream(
    house& in, std::shared_ptr<session::session> host, std::string stream, std::string reason_json
);

} // namespace sluice::gateway
