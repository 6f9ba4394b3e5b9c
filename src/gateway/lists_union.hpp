// One page of a list of several upstreams: all asked in parallel, one answer that names every
// outcome. Used by lists only.
#pragma once

#include "aio/task.hpp"
#include "gateway/operation.hpp"
#include "gateway/pager.hpp"

#include <optional>

namespace sluice::gateway {

// `from` = where the host's cursor stands; nothing on page 1.
aio::task<> run_union(house& in, shared_operation op, std::optional<position> from);

} // namespace sluice::gateway
