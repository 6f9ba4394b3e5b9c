// One operation of a host on its walk through the gateway, and the collaborators it meets.
// Shared by the coroutines that serve it; the walk itself is in gateway.cpp.
#pragma once

#include "aio/deadlines.hpp"
#include "aio/task.hpp"
#include "base/outcome.hpp"
#include "catalog/directory.hpp"
#include "catalog/index.hpp"
#include "gateway/page_cache.hpp"
#include "gateway/pager.hpp"
#include "gateway/peers.hpp"
#include "gateway/permits.hpp"
#include "gateway/served.hpp"
#include "mcp/methods.hpp"
#include "net/http.hpp"
#include "policy/access.hpp"
#include "session/registry.hpp"
#include "sys/budget.hpp"
#include "sys/meters.hpp"
#include "wire/message.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sluice::gateway {

// What happened that has to do with other replicas; read at a scrape.
struct replica_numbers {
    std::uint64_t adopted_upstreams = 0; // upstream sessions taken up from the store
    std::uint64_t replays = 0;           // streams read here that another replica writes or wrote
    std::uint64_t orphans_resumed = 0;   // calls of dead replicas, by how they ended
    std::uint64_t orphans_unknown = 0;
};

class replicas;

// What a process has once. Built by app, alive until every operation and every session has ended.
struct grounds {
    aio::loop& loop;
    aio::deadlines& deadlines;
    catalog::index& lists;
    session::registry& sessions;
    sys::meters& meters;
    gateway::replicas& replicas;
    sys::budget& bodies; // of messages under way
    peer_book& known;
    replica_numbers& numbers;
    const std::vector<shared_served>& newest; // the servers of the configuration in force
    const permits& permit;                    // and what sessions may use of them
};

// And what a configuration adds to it. An operation ends in the house where it began.
struct house : grounds {
    const catalog::directory& names;
    const policy::authoriser& authoriser;
    pager& pages;
    std::string registry;               // digest of the effective configuration
    std::vector<shared_served> servers; // configuration order
    // May be empty, where there is only one house.
    std::function<std::shared_ptr<const void>()> occupy = {};
    std::weak_ptr<const void> whole = {};
    std::unique_ptr<page_cache> cache = {}; // made by the gateway, ended with it
    // Of which tools the log has told that a display name took theirs, by server.
    std::set<std::pair<std::size_t, std::string>> displaced = {};

    // What that server listed holds no more.
    void forget_lists(std::size_t server) { lists.forget(servers[server]->number); }

    // Keeps the servers of this house for as long as it is held: for whatever calls them.
    std::shared_ptr<const void> enter() const { return occupy ? occupy() : nullptr; }
    // Keeps the house alone: for what only listens, as long as it likes.
    std::shared_ptr<const void> hold() const { return whole.lock(); }
};

struct operation {
    std::shared_ptr<const void> under; // the house it walks through
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
