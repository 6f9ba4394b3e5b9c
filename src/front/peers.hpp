// The way to other replicas, the only one: a host's request goes on, signed, to the replica that
// must serve it, and its answer comes back to the host as it comes (decision 3). At most one hop.
// An answer that does not begin within a second is a 503 that may be tried again; what it says of
// the request is honest: never sent, or unknown.
#pragma once

#include "aio/deadlines.hpp"
#include "aio/nursery.hpp"
#include "aio/task.hpp"
#include "base/result.hpp"
#include "front/answers.hpp"
#include "gateway/replicas.hpp"
#include "net/http_client.hpp"
#include "net/http_server.hpp"
#include "sys/meters.hpp"
#include "sys/seal.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::front {

struct peers_settings {
    std::chrono::milliseconds answer{1'000};   // for a peer to begin its answer
    std::chrono::milliseconds silence{35'000}; // on a stream, keep-alives included
    std::string mount_path;                    // of the others, as of this one
    std::vector<std::string> dropped_headers;  // lower case; hosts' credentials nobody there needs
};

// What is passed on.
struct hop {
    std::string replica;   // an id
    std::string principal; // policy::principal::id
    std::string body;
    std::string said_by = {}; // see peer_claim
    bool forwarded = false;   // it came from another replica: it goes no further
    extra_headers headers;    // CORS; for refusals of ours
};

// What a replica says of an answer to no open question of its own, or of what is for no call of its
// own; else of what it took: 202.
inline constexpr int nobody_waits = 204;

struct told {
    std::size_t asked = 0;
    std::size_t acknowledged = 0; // 2xx
    bool taken = false;           // one of them had a use for it
};

class peers final : public gateway::courier {
public:
    peers(
        aio::loop& loop,
        aio::deadlines& deadlines,
        gateway::replicas& everybody,
        const sys::sealer& seals,
        sys::meters& meters,
        peers_settings from
    );

    // Lets the replica serve the present request of the host, and pipes the answer. Always answers.
    aio::task<> pass_on(net::exchange& http, hop to);
    // The same request to every other live replica, at once.
    aio::task<told> tell_others(net::request_head head, std::string principal, std::string body);
    // To one; the status of its answer. `sent` (may be null) tells whether any of it has left.
    aio::task<base::result<int>> tell(net::request_head head, hop what, bool* sent = nullptr);
    aio::task<base::result<bool>> deliver(gateway::forwarded_message what) override;

    gateway::replicas& everybody() { return everybody_; }
    void use(peers_settings from) { from_ = std::move(from); }

private:
    using shared_response = std::shared_ptr<net::client_response>;

    std::shared_ptr<net::http_pool> pool_of(const std::string& address);
    aio::task<base::result<shared_response>>
    ask(gateway::replica whom, net::request_head head, hop what, bool* sent);
    aio::task<base::result<shared_response>>
    exchange_with(gateway::replica whom, net::request_head head, hop what, bool* sent);
    aio::task<>
    tell_one(gateway::replica whom, net::request_head head, hop what, std::shared_ptr<told> count);
    aio::task<> pipe(net::exchange& http, shared_response from);
    aio::task<> pipe_stream(net::exchange& http, shared_response from, net::response_head head);

    aio::loop& loop_;
    aio::deadlines& deadlines_;
    gateway::replicas& everybody_;
    const sys::sealer& seals_;
    sys::meters& meters_;
    peers_settings from_;
    std::map<std::string, std::shared_ptr<net::http_pool>> pools_; // by address
};

// Stands on every answer that a peer's front gave; a refusal of its door has none.
inline constexpr std::string_view served_by_header = "x-sluice-peer-served-by";

} // namespace sluice::front
