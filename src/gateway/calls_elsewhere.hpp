// Which calls of a session other replicas run at a server: a question that an upstream asks where
// all calls of its session are heard belongs to the only one, wherever that runs. Decision 012.
#pragma once

#include "aio/task.hpp"
#include "base/result.hpp"
#include "gateway/operation.hpp"

#include <memory>
#include <string>
#include <vector>

namespace sluice::gateway {

// For each such call the replica that runs it, also where the record does not say yet at which
// server. A call that has just begun is not in the record: looks only after so long that any that
// asks now is there, or has ended.
aio::task<base::result<std::vector<std::string>>>
calls_elsewhere(const grounds& in, std::shared_ptr<session::session> host, std::string server);

struct calls_at {
    std::string server;   // its name, as calls' logs have it
    std::string upstream; // the field of the session's record that holds the session with it
};

// Hands a request of that server to the one replica whose call it belongs to, or the end of a
// question to all that may have it. False when there is no such call, or several and the request
// does not say of which; a fault when a replica may have taken it or not.
aio::task<base::result<bool>> hand_to_call_elsewhere(
    const grounds& in,
    std::shared_ptr<session::session> host,
    calls_at at,
    std::shared_ptr<const wire::message> said
);

} // namespace sluice::gateway
