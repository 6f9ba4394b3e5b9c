// Requests with one target: tools/call, prompts/get, resources/read, completion/complete. Finds the
// upstream a name or URI leads to, has the call authorised, relays it.
#pragma once

#include "aio/task.hpp"
#include "gateway/operation.hpp"

namespace sluice::gateway {

aio::task<> run_target(house& in, shared_operation op);
// logging/setLevel: kept for the session, sent to every open upstream that logs.
aio::task<> run_set_level(house& in, shared_operation op);

}  // namespace sluice::gateway
