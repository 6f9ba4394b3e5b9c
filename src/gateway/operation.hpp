// One operation of a host on its walk through the gateway, and the collaborators it meets.
// Shared by the coroutines that serve it; the walk itself is in gateway.cpp.
#pragma once

#include "aio/deadlines.hpp"
#include "aio/task.hpp"
#include "base/outcome.hpp"
#include "catalog/directory.hpp"
#include "catalog/index.hpp"
#include "catalog/schemas.hpp"
#include "gateway/page_cache.hpp"
#include "gateway/pager.hpp"
#include "gateway/peers.hpp"
#include "gateway/settings.hpp"
#include "mcp/methods.hpp"
#include "net/http.hpp"
#include "policy/access.hpp"
#include "session/registry.hpp"
#include "sys/budget.hpp"
#include "sys/meters.hpp"
#include "upstream/server.hpp"
#include "wire/message.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::gateway {

struct known_peer {
    // Host sessions subscribed to each URI: what a shared process must go on hearing of.
    std::map<std::string, std::size_t> subscribers;
    // The log level of each host session of a shared process, which is set to the most verbose.
    std::map<const void*, std::string> levels;
};

// What happened that has to do with other replicas; read at a scrape.
struct replica_numbers {
    std::uint64_t adopted_upstreams = 0; // upstream sessions taken up from the store
    std::uint64_t replays = 0;           // streams read here that another replica writes or wrote
    std::uint64_t orphans_resumed = 0;   // calls of dead replicas, by how they ended
    std::uint64_t orphans_unknown = 0;
};

class replicas;

// The collaborators; built by app, alive until every operation has ended.
struct house {
    aio::loop& loop;
    aio::deadlines& deadlines;
    const catalog::directory& names;
    catalog::index& lists;
    const policy::authoriser& authoriser;
    session::registry& sessions;
    sys::meters& meters;
    pager& pages;
    gateway::replicas& replicas;
    sys::budget& bodies;                                    // of messages under way
    std::string registry;                                   // digest of the effective configuration
    std::vector<std::unique_ptr<upstream::server>> servers; // configuration order
    std::vector<known_peer> peers;                          // same order
    settings bounds;
    peer_book known = {};
    replica_numbers numbers = {};
    catalog::schemas schemas = catalog::schemas();
    std::unique_ptr<page_cache> cache = {}; // made by the gateway, ended with it

    // What that server listed holds no more.
    void forget_lists(std::size_t server) {
        lists.forget(server);
        schemas.forget(server);
        if (cache) cache->forget(server);
    }
};

struct operation {
    std::shared_ptr<session::session> host;
    std::shared_ptr<session::call> call;
    catalog::scope scope; // only servers this caller may use
    policy::caller caller;
    std::shared_ptr<const wire::message> message;
    const mcp::method_info* method = nullptr;
    std::shared_ptr<const net::fields> headers; // the host's; only configured names go up
    aio::instant arrived;
    std::shared_ptr<sys::budget::share> held; // of house::bodies, for the message

    // For the one line at the end, and for hosts that debug.
    aio::instant began;      // its walk: until then it was queued
    bool granted = false;    // server and tool are what the caller may see
    aio::duration waited{0}; // for upstreams
    aio::duration first_byte{0};
    std::string server; // "" on an aggregate of several
    std::string tool;
    std::string outcome = "ok";
    std::string problem; // for the log only: may name addresses and files

    std::string_view host_id() const { return call->host_id().text(); }
};

using shared_operation = std::shared_ptr<operation>;

} // namespace sluice::gateway
