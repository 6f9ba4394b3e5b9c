// Which calls of a session other replicas run at a server: a question that an upstream asks where
// all calls of its session are heard belongs to the only one, wherever that runs. Decision 012.
#pragma once

#include "aio/task.hpp"
#include "base/result.hpp"
#include "gateway/operation.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace sluice::gateway {

// For each such call the replica that runs it, also where the record does not say yet at which
// server. A call that has just begun is not in the record: looks only after so long that any that
// asks now is there, or has ended.
aio::task<base::result<std::vector<std::string>>>
calls_elsewhere(const grounds& in, std::shared_ptr<session::session> host, std::string server);

// Hands a message of that server to the one replica whose call it belongs to; false when there is
// no such call, or several and it does not say of which.
aio::task<bool> hand_to_call_elsewhere(
    const grounds& in,
    std::shared_ptr<session::session> host,
    std::string server,
    std::shared_ptr<const wire::message> said,
    bool names_its_call
);

} // namespace sluice::gateway
