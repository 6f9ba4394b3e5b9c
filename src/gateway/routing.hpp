// Where a name or a URI leads when the endpoint reaches several upstreams.
// Names: prefix first; a bare name only from complete lists; a shortened one by paging its
// upstream.
#pragma once

#include "aio/task.hpp"
#include "base/result.hpp"
#include "catalog/directory.hpp"
#include "gateway/operation.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace sluice::gateway {

// errc::invalid_params with a sentence for the host when the name leads nowhere. What it gives of a
// shortened name is the server alone.
aio::task<base::result<catalog::route>>
find_named(house& in, shared_operation op, const mcp::method_info& list, std::string name);

// The native name that is shown shortened as `name`, from that server's list; a fault of the
// server when the list did not say. A name that only looked shortened is what follows its prefix.
aio::task<base::result<catalog::route>> look_up(
    house& in,
    shared_operation op,
    const mcp::method_info& list,
    catalog::route shortened,
    std::string name
);

// The permitted upstreams to ask for a resource, in order (decision 18).
std::vector<std::size_t> candidates_for_uri(house& in, const operation& op, const std::string& uri);

// Whether any permitted upstream has (or, unknown yet, may have) a capability.
bool anyone_has(house& in, const operation& op, std::string_view capability);

} // namespace sluice::gateway
