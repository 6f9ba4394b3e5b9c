// What upstreams said of themselves at their last `initialize`, and from which viewpoint each of
// their answers is seen. Used wherever something is decided without asking the upstream.
#pragma once

#include "base/recent_map.hpp"
#include "catalog/viewpoint.hpp"
#include "net/http.hpp"
#include "session/session.hpp"
#include "upstream/link.hpp"
#include "upstream/server.hpp"

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sluice::gateway {

class peer_book {
public:
    // Null when that server was never met from there, or so long ago that it was forgotten.
    const upstream::peer_info* find(const catalog::viewpoint& from) { return known_.find(from); }
    void learn(const catalog::viewpoint& from, upstream::peer_info said) {
        known_.put(from, std::move(said));
    }

    // Background meetings, so that nobody begins one twice.
    bool is_meeting(const catalog::viewpoint& from) const { return meetings_.contains(from); }
    void meet(const catalog::viewpoint& from) { meetings_.insert(from); }
    void met(const catalog::viewpoint& from) { meetings_.erase(from); }

private:
    base::recent_map<catalog::viewpoint, upstream::peer_info> known_{catalog::most_remembered};
    std::set<catalog::viewpoint> meetings_;
};

struct house;
struct operation;

// How a session with that server is opened for a host.
upstream::open_request opening_for(
    const upstream::server_settings& server,
    const session::identity& host,
    const net::fields* headers
);

// `server` is its number (gateway::served). What the server can tell apart: what goes up with the
// requests and what was declared to it. A process that all host sessions share sees none of it.
catalog::viewpoint viewpoint_of(
    const upstream::server_settings& settings,
    std::size_t server,
    const upstream::open_request& request
);
catalog::viewpoint viewpoint_of(const house& in, const operation& op, std::size_t server);

// The same question for an operation's host, answered.
const upstream::peer_info* peer_of(house& in, const operation& op, std::size_t server);

} // namespace sluice::gateway
