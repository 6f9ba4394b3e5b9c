// The four list methods: every permitted upstream asked in parallel, each under its own deadline,
// permissions and names applied, one answer that names every outcome. Also keeps the name index fresh.
// Spec: Utilities/Pagination; the paging rule of docs/architecture.md.
#pragma once

#include "aio/task.hpp"
#include "base/result.hpp"
#include "catalog/listing.hpp"
#include "gateway/operation.hpp"

#include <cstddef>
#include <string_view>
#include <vector>

namespace sluice::gateway {

aio::task<> run_list(house& in, shared_operation op);

// One server's part of a list.
struct part {
    std::size_t server = 0;
    base::result<catalog::page> got;
    bool left_out = false;  // it has no such capability
};

// Asks each of `servers` for its first page of `list`, in parallel; teaches the index.
aio::task<std::vector<part>>
fetch_first_pages(house& in, shared_operation op, const mcp::method_info& list, std::vector<std::size_t> servers);

// Reads one server's list to its end (bounded number of pages) and returns the native names.
aio::task<base::result<std::vector<std::string>>>
fetch_all_names(house& in, shared_operation op, const mcp::method_info& list, std::size_t server);

}  // namespace sluice::gateway
