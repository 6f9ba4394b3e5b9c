// One page of an upstream's list: from the cache where the server has one, together with others who
// ask for it now, or from the upstream. Used wherever a list is asked for.
#pragma once

#include "aio/task.hpp"
#include "base/result.hpp"
#include "gateway/operation.hpp"
#include "gateway/relay.hpp"

#include <string>

namespace sluice::gateway {

// `cursor` is the upstream's, JSON text, empty for its first page; it stands in the request
// already. Answer and faults as those of ask().
aio::task<base::result<wire::message>>
ask_page(house& in, shared_operation op, request_to what, std::string cursor);

} // namespace sluice::gateway
