// How an interaction with an upstream ended: the closed set that becomes an HTTP status, a JSON-RPC
// code, `_meta["sluice/server_outcomes"]`, a log field and a metric label (one table each,
// mcp/errors).
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string_view>

namespace sluice::base {

enum class outcome : std::uint8_t {
    ok,
    auth_required,  // the upstream answered 401
    forbidden,      // the upstream answered 403
    timeout,        // one of our deadlines passed
    unreachable,    // no connection, connection lost before an answer, circuit open
    upstream_error, // it answered, but not with what the protocol demands
    internal,       // our own fault
};

std::string_view name_of(outcome o);
outcome outcome_of(const fault& f);

} // namespace sluice::base
