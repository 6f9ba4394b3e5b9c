// The running gateway: what the process has once, in the order of the floors, the generations of
// its configuration (reload.cpp), and its drain. One per process. Sentences for the person at the
// terminal go to stdout, events to the log.
#pragma once

#include "aio/deadlines.hpp"
#include "aio/nursery.hpp"
#include "aio/task.hpp"
#include "app/generation.hpp"
#include "app/settings.hpp"
#include "base/result.hpp"
#include "front/admin.hpp"
#include "front/doorman.hpp"
#include "front/front.hpp"
#include "front/peer_door.hpp"
#include "front/peers.hpp"
#include "gateway/estates.hpp"
#include "gateway/renewal.hpp"
#include "gateway/replicas.hpp"
#include "gateway/roll.hpp"
#include "net/child.hpp"
#include "net/http_server.hpp"
#include "state/store.hpp"
#include "sys/meters.hpp"
#include "sys/seal.hpp"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::app {

class runtime {
public:
    // `file` is where the settings were read from: it is read again at a reload.
    runtime(aio::loop& loop, settings from, std::string file);
    ~runtime();

    // Binds the listeners and begins to learn the upstreams; errc::config when an address is taken.
    base::result<void> start();
    // Not ready → stop accepting → let calls finish → end sessions, upstreams, listeners.
    aio::task<> drain();

    // Reads the file again. A good one takes the place of the present configuration as a whole; a
    // bad one changes nothing. The log says what became of it, and `why` it was looked at.
    void reload(std::string_view why);

    std::string endpoint() const; // "http://127.0.0.1:8080/mcp"
    std::string admin_address() const;

private:
    base::result<void> start_guard(const settings& from);
    std::shared_ptr<generation> make_generation(settings from);
    std::vector<gateway::shared_served> servers_for(const upstream::settings& from);
    void listen_to_store();
    std::map<std::string, std::string> names_of_keys() const; // by principal
    std::unique_ptr<state::store> make_store();
    // "" when requests can be served, else why not.
    std::string why_unready();
    aio::task<> measure_lag();
    // listening.cpp
    base::result<void> listen();
    base::result<void> listen_to_peers();
    void note_refusals(net::http_server& at, std::string_view listener);
    aio::task<> serve_host(net::exchange& http);
    aio::task<> serve_peer(net::exchange& http, policy::caller who, std::string said_by);
    // reload.cpp
    base::result<void> take_over(settings now);
    void replace(std::shared_ptr<generation> made);
    std::string configuration_mark() const;
    void announce_configuration();
    aio::task<> tell_all(
        std::shared_ptr<generation> with, std::vector<gateway::changed> whom, std::string mark
    );
    void adjust_process(const settings& now);
    std::vector<std::string> keep_fixed(settings& now);
    aio::task<> watch_file();
    aio::task<> close_old();
    std::vector<gateway::shared_served> forget_old();
    // shared_salt.cpp
    aio::task<> share_salt();
    void adopt_salt(std::string newest);

    aio::loop& loop_;
    settings settings_; // of what the process has once
    std::string file_;
    aio::deadlines deadlines_;
    sys::meters meters_;
    front::doorman doorman_;
    std::unique_ptr<net::child_guard> guard_;
    upstream::surroundings around_;
    std::size_t next_server_ = 0;
    catalog::index lists_;
    gateway::peer_book known_;
    gateway::replica_numbers numbers_;
    std::vector<gateway::shared_served> servers_; // of the newest generation
    base::result<void> store_made_;
    std::unique_ptr<state::store> store_;
    bool store_seen_ = false; // it was up once
    sys::sealer seals_;       // cursors: only under a configured salt
    sys::sealer ids_;         // ids of sessions, events and questions, and the peers' signatures
    std::vector<std::string> shared_salts_; // newest first, where ids_ has no configured ones
    gateway::replicas replicas_;
    session::records records_;
    session::registry sessions_;
    gateway::roll roll_;
    front::peers peers_;
    sys::budget bodies_;
    gateway::permits permits_; // by the newest generation
    gateway::grounds grounds_;
    std::shared_ptr<generation> newest_;
    gateway::estates estates_;
    std::vector<std::shared_ptr<generation>> old_; // until nothing runs in any of them
    std::uint64_t reloads_ok_ = 0;
    std::uint64_t reloads_refused_ = 0;
    std::unique_ptr<front::admin> admin_;
    std::unique_ptr<front::peer_door> peer_door_;
    std::unique_ptr<net::http_server> listener_;
    std::unique_ptr<net::http_server> peer_listener_;
    std::unique_ptr<net::http_server> admin_listener_;
    aio::nursery chores_;
    double loop_lag_ = 0; // seconds, the worst of the last interval
    bool draining_ = false;
};

front::peers_settings peers_from(const settings& from);

} // namespace sluice::app
