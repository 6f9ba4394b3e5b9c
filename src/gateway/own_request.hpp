// What the gateway asks an upstream for a session by itself: one request and its answer, told to
// nobody; questions meanwhile are refused. Spec: resources/subscribe, logging/setLevel.
#pragma once

#include "gateway/slots.hpp"

#include <chrono>
#include <string>

namespace sluice::gateway {

// What is told upstream when nobody waits for what comes of it.
inline constexpr auto farewell = std::chrono::seconds(2);

struct own_request {
    policy::grant allowed;
    std::string method;
    std::string params;
    aio::instant until = aio::never;
};

// Throws when the grant is for another server.
aio::task<base::result<wire::message>>
ask_quietly(const served& server, shared_link link, own_request what);

} // namespace sluice::gateway
