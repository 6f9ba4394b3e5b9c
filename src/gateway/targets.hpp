// Requests with one target: tools/call, prompts/get, resources/read, completion/complete. Finds the
// upstream a name or URI leads to, has the call authorised, relays it.
#pragma once

#include "aio/task.hpp"
#include "gateway/operation.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace sluice::gateway {

// What else is to be done around each upstream that a URI is tried at.
struct uri_hooks {
    std::function<void(std::size_t server)> before;
    std::function<void(std::size_t server, bool done)> after;
};
// Decision 18: tries the candidates in order until one does not say "not found".
aio::task<> call_by_uri(
    house& in,
    shared_operation op,
    std::string uri,
    std::vector<std::size_t> candidates,
    uri_hooks hooks
);

aio::task<> run_target(house& in, shared_operation op);
// logging/setLevel: kept for the session, sent to every open upstream that logs.
aio::task<> run_set_level(house& in, shared_operation op);

} // namespace sluice::gateway
