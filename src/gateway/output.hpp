// A tool's result on its way to the host, held against the tool's outputSchema where its server's
// configuration asks for it (validate_output; docs/decisions/015). The schema comes from the list
// as this caller's requests see it; where that was not read yet, it is read, from that server only.
#pragma once

#include "aio/task.hpp"
#include "gateway/operation.hpp"

#include <cstddef>
#include <string>

namespace sluice::gateway {

// Delivers the answer of `tool` (its native name), or the error that stands for it.
aio::task<> deliver_checked(
    house& in, shared_operation op, std::size_t server, std::string tool, wire::message answer
);

} // namespace sluice::gateway
