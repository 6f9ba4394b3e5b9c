// The end of every operation: one log line and the metrics. Never arguments, results or secrets.
#pragma once

#include "gateway/operation.hpp"

namespace sluice::gateway {

void record(house& in, const operation& op);

} // namespace sluice::gateway
