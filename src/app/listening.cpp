// Where the process listens: to hosts, to operators and to its peers, and what each of them meets.
#include "app/runtime.hpp"

#include <algorithm>

namespace sluice::app {

// A request ends where it began, whatever is loaded meanwhile.
aio::task<> runtime::serve_host(net::exchange& http) {
    auto at = newest_;
    co_await at->entrance.serve(http);
}

aio::task<> runtime::serve_peer(net::exchange& http, policy::caller who, std::string said_by) {
    auto at = newest_;
    co_await at->entrance.serve_forwarded(http, std::move(who), std::move(said_by));
}

void runtime::note_refusals(net::http_server& at, std::string_view listener) {
    at.on_turned_away([this, listener](const net::turned_away& what) {
        doorman_.note(listener, what);
    });
}

base::result<void> runtime::listen() {
    const auto& f = settings_.front;
    session::overseer sessions(sessions_, [this] { return names_of_keys(); });
    admin_ = std::make_unique<front::admin>(
        meters_,
        [this] { return why_unready(); },
        std::move(sessions),
        [this](const net::request_head& head) { return newest_->entrance.may_administer(head); },
        doorman_
    );
    listener_ = std::make_unique<net::http_server>(
        loop_, deadlines_, f.limits, [this](net::exchange& http) { return serve_host(http); }
    );
    note_refusals(*listener_, "");
    auto listening = listener_->listen(f.listen);
    if (!listening || f.admin_listen.empty()) return listening;
    admin_listener_ = std::make_unique<net::http_server>(
        loop_,
        deadlines_,
        net::http_limits{},
        [this](net::exchange& http) { return admin_->serve(http); }
    );
    note_refusals(*admin_listener_, "admin");
    return admin_listener_->listen(f.admin_listen);
}

base::result<void> runtime::listen_to_peers() {
    const auto& f = settings_.front;
    if (f.peer_listen.empty()) return {};
    auto limits = f.limits;
    limits.max_header_bytes += 4096; // the claim and its signature
    // What an upstream asked may be for a call there.
    for (const auto& server : settings_.upstream.servers)
        limits.max_body_bytes = std::max(limits.max_body_bytes, server.max_message_bytes);
    front::behind_door inside{
        [this](std::string_view id) { return newest_->keys.known_as(id); },
        [this](net::exchange& http, policy::caller who, std::string said_by) {
            return serve_peer(http, std::move(who), std::move(said_by));
        },
        [this](const net::request_head& head) { return newest_->entrance.make_room(head); }
    };
    peer_door_ = std::make_unique<front::peer_door>(replicas_, ids_, meters_, std::move(inside));
    peer_listener_ =
        std::make_unique<net::http_server>(loop_, deadlines_, limits, [this](net::exchange& http) {
            return peer_door_->serve(http);
        });
    note_refusals(*peer_listener_, "peer");
    auto listening = peer_listener_->listen(f.peer_listen);
    if (!listening) return listening;
    if (settings_.gateway.peer.address.empty()) replicas_.be_at(peer_listener_->local_address());
    return {};
}

std::string runtime::endpoint() const {
    return "http://" + listener_->local_address() + settings_.front.mount_path + "/mcp";
}

std::string runtime::admin_address() const {
    return admin_listener_ ? "http://" + admin_listener_->local_address() : std::string();
}

} // namespace sluice::app
