// resources/subscribe and resources/unsubscribe: routed as reads are, remembered for the session.
// Spec: Resources, "Subscriptions"; decision 18.
#pragma once

#include "aio/task.hpp"
#include "gateway/operation.hpp"

namespace sluice::gateway {

aio::task<> run_watch(house& in, shared_operation op);

} // namespace sluice::gateway
