// Asking upstreams for list pages: one, several in parallel, or one upstream's list to its end.
// Permissions and names are applied here, so what comes out is what this caller may see.
#pragma once

#include "aio/task.hpp"
#include "base/result.hpp"
#include "catalog/listing.hpp"
#include "gateway/operation.hpp"
#include "gateway/relay.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace sluice::gateway {

// One server's part of a page.
struct part {
    std::size_t server = 0;
    std::string cursor; // the upstream's, JSON text; empty = its first page
    base::result<catalog::page> got;
    bool left_out = false;            // it has no such capability
    std::shared_ptr<const void> held; // room for its bytes
};

// Fills every part, in parallel, each under its server's list_timeout; first pages teach the index.
aio::task<>
fetch_parts(house& in, shared_operation op, const mcp::method_info& list, std::vector<part>& parts);

std::vector<part> first_pages_of(const std::vector<std::size_t>& servers);

// How far one server's list is read.
struct reading {
    aio::instant until = aio::never;
    std::function<bool(const std::vector<std::string>& natives)> enough; // asked of each page
};
// Reads one server's list until that is enough; false when it came to its end before. A list that
// has no end, or more pages than catalog.max_pages, is errc::protocol: what was not found in it may
// stand there all the same.
aio::task<base::result<bool>> read_list(
    house& in,
    shared_operation op,
    const mcp::method_info& list,
    std::size_t server,
    reading how_far
);

// A page read out of one answer; a JSON-RPC error is a fault, except "method not found": an empty
// list.
base::result<catalog::page> page_of(
    house& in,
    const operation& op,
    const mcp::method_info& list,
    std::size_t server,
    const wire::message& answer
);
void learn(
    house& in,
    const operation& op,
    const mcp::method_info& list,
    std::size_t server,
    const catalog::page& page
);
// The clocks of a list request.
request_to list_call(house& in, policy::grant allowed, std::size_t server);

} // namespace sluice::gateway
