// The running gateway: every object built from settings, in the order of the floors, and its drain.
// One per process. Sentences for the person at the terminal go to stdout, events to the log.
#pragma once

#include "aio/deadlines.hpp"
#include "aio/nursery.hpp"
#include "aio/task.hpp"
#include "app/settings.hpp"
#include "base/result.hpp"
#include "front/admin.hpp"
#include "front/front.hpp"
#include "front/peer_door.hpp"
#include "front/peers.hpp"
#include "gateway/gateway.hpp"
#include "gateway/replicas.hpp"
#include "net/child.hpp"
#include "net/http_server.hpp"
#include "policy/access.hpp"
#include "policy/keyring.hpp"
#include "state/store.hpp"
#include "sys/meters.hpp"
#include "sys/seal.hpp"

#include <memory>
#include <string>
#include <vector>

namespace sluice::app {

class runtime {
public:
    runtime(aio::loop& loop, settings from);
    ~runtime();

    // Binds the listeners and begins to learn the upstreams; errc::config when an address is taken.
    base::result<void> start();
    // Not ready → stop accepting → let calls finish → end sessions, upstreams, listeners.
    aio::task<> drain();

    std::string endpoint() const; // "http://127.0.0.1:8080/mcp"
    std::string admin_address() const;

private:
    base::result<void> start_guard();
    void build_servers();
    base::result<void> listen();
    base::result<void> listen_to_peers();
    void listen_to_store();
    aio::task<> share_salt();
    std::unique_ptr<state::store> make_store();
    // "" when requests can be served, else why not.
    std::string why_unready();
    aio::task<> measure_lag();

    aio::loop& loop_;
    settings settings_;
    aio::deadlines deadlines_;
    sys::meters meters_;
    std::unique_ptr<net::child_guard> guard_;
    catalog::directory names_;
    catalog::index lists_;
    policy::keyring keys_;
    policy::authoriser authoriser_;
    base::result<void> store_made_;
    std::unique_ptr<state::store> store_;
    bool store_seen_ = false; // it was up once
    sys::sealer seals_;       // cursors: only under a configured salt
    sys::sealer ids_;         // ids of sessions, events and questions, and the peers' signatures
    gateway::replicas replicas_;
    session::records records_;
    session::registry sessions_;
    front::peers peers_;
    gateway::pager pages_;
    sys::budget bodies_;
    gateway::house house_;
    gateway::gateway gateway_;
    std::unique_ptr<front::front> front_;
    std::unique_ptr<front::admin> admin_;
    std::unique_ptr<front::peer_door> peer_door_;
    std::unique_ptr<net::http_server> listener_;
    std::unique_ptr<net::http_server> peer_listener_;
    std::unique_ptr<net::http_server> admin_listener_;
    aio::nursery chores_;
    double loop_lag_ = 0; // seconds, the worst of the last interval
    bool draining_ = false;
};

} // namespace sluice::app
