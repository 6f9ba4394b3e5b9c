// The door for other replicas, behind `peer_listen`: a signed request is served by the front as if
// the host had come here; its answer goes back with served_by_header. Whatever is not believed gets
// 403 and is counted; beside that only /healthz is answered.
#pragma once

#include "aio/task.hpp"
#include "front/peer_seal.hpp"
#include "gateway/replicas.hpp"
#include "net/http_server.hpp"
#include "policy/keyring.hpp"
#include "sys/budget.hpp"
#include "sys/meters.hpp"
#include "sys/seal.hpp"

#include <functional>
#include <memory>
#include <string_view>

namespace sluice::front {

// What stands behind the door.
struct behind_door {
    // The principal with that id, null = unknown.
    std::function<policy::caller(std::string_view)> who_is;
    // `said_by`: see peer_claim.
    std::function<aio::task<>(net::exchange&, policy::caller, std::string said_by)> serve;
    // Room for a body; null when there is none (503).
    std::function<std::shared_ptr<sys::budget::share>(const net::request_head&)> make_room;
};

class peer_door {
public:
    peer_door(
        const gateway::replicas& everybody,
        const sys::sealer& seals,
        sys::meters& meters,
        behind_door inside
    );

    aio::task<> serve(net::exchange& http);

private:
    aio::task<> refuse_peer(net::exchange& http, std::string_view reason);
    aio::task<> let_in(net::exchange& http, peer_verdict known);

    const gateway::replicas& everybody_;
    const sys::sealer& seals_;
    sys::meters& meters_;
    behind_door inside_;
    nonce_memory nonces_;
};

} // namespace sluice::front
