// The four list methods: every permitted upstream asked in parallel, one answer that names every
// outcome, page by page with sealed cursors.
// Spec: Utilities/Pagination; the paging rule of docs/architecture.md; decisions 19 and 20.
#pragma once

#include "aio/task.hpp"
#include "gateway/operation.hpp"

namespace sluice::gateway {

aio::task<> run_list(house& in, shared_operation op);

} // namespace sluice::gateway
