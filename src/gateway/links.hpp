// The upstream sessions of one host session: one per upstream, opened on first use, never shared
// with another host (decision 1). Hung on the session; closed when it ends. Where the store is
// shared, an upstream session that can leave the process is written into the session's record, and
// whatever replica needs it takes it up from there (decision 2). Outlives reloads of the
// configuration: a link stands with the server it was made with (gateway::served).
#pragma once

#include "aio/task.hpp"
#include "base/result.hpp"
#include "gateway/changes.hpp"
#include "gateway/hearing.hpp"
#include "gateway/operation.hpp"
#include "gateway/own_request.hpp"
#include "gateway/slots.hpp"
#include "gateway/watching.hpp"
#include "session/session.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::gateway {

class session_links : public session::attachment {
public:
    session_links(const grounds& in, session::session& host)
        : slots_(in, host), changes_(host, slots_.chores), watches_(slots_, *this) {}

    // The link to that server, opened when there is none usable; many callers wait for one opening,
    // each until its own `until`, or until `call` (may be null) is cancelled: the opening goes on.
    aio::task<base::result<shared_link>> ensure(
        shared_served server,
        std::shared_ptr<const net::fields> headers,
        aio::instant until,
        std::shared_ptr<session::call> call = nullptr
    );
    // The same for no request of the host; whether there is one.
    aio::task<bool> take_up(shared_served server);

    // The link to that server that is open now, or null.
    shared_link open_link(const served& server) const;

    // --- a reload of the configuration ---
    // The session may use these servers now. What others say outside calls is not heard any more;
    // calls under way there go on.
    void keep_only(const std::vector<shared_served>& allowed);
    // No call is under way there any more: closes what keep_only() left out.
    void let_go();

    // The host's roots have changed: its notification goes to every upstream session of this host
    // that may ask for them and was told that it would be told, also to those that only other
    // replicas have used. None is opened for it.
    void roots_changed(const std::string& note, const std::shared_ptr<const net::fields>& headers);

    // --- what upstreams say outside calls (`hearing`) ---
    changes& of_lists() { return changes_; }
    watching& watches() { return watches_; }
    void listen() { watches_.listen(); }
    // What the upstream said to a call that does not run here goes to the replica that runs it, or
    // is refused. False when there can be none.
    bool look_elsewhere(const shared_served& server, const wire::message& said);
    // What an upstream (a field of the record) said to another replica, for a call here; false when
    // it is of none.
    bool take_for_call(std::string_view upstream, const wire::message& said);
    // The upstream had forgotten the session, and its link has a new one.
    void reopened(const shared_served& server);

    aio::task<> close(bool for_all, state::fields record) override;
    void others_say(std::string_view server) override { watches_.others_say(server); }

private:
    void begin_opening(const shared_slot& s);
    aio::task<> open_for_all(shared_slot s);
    aio::task<base::result<shared_link>> open_one(shared_slot s);
    upstream::open_request request_for(const slot& s) const;
    void hear(slot& s);
    aio::task<> leave(shared_slot s);
    aio::task<> close_here(bool for_all);
    static aio::task<> close_link(shared_link link);
    // Links in the record, links_kept.cpp.
    aio::task<base::result<shared_link>> open_kept(shared_slot s);
    aio::task<base::result<shared_link>> publish(shared_slot s, shared_link made);
    aio::task<base::result<shared_link>> adopt(shared_slot s, std::string handle);
    aio::task<base::result<std::optional<std::string>>> enter(shared_slot s, std::string handle);
    aio::task<> publish_again(shared_slot s);
    aio::task<> publish_later(shared_slot s);
    aio::task<> give_way(shared_slot s, shared_link link);
    static bool is_published(const slot& s);
    aio::task<> wait_for_others(const state::fields& record);
    aio::task<> close_left(state::fields record);
    // What is passed on, links_passed.cpp.
    aio::task<> hand_on(shared_slot s, std::shared_ptr<const wire::message> said);
    bool hears_of_roots(const served& server) const;
    aio::task<> tell_of_roots(
        shared_served server, std::string note, std::shared_ptr<const net::fields> headers
    );
    aio::task<bool> is_open_elsewhere(shared_served server);

    slots slots_;
    const grounds& in_ = slots_.in;
    session::session& host_ = slots_.host;
    aio::nursery& chores_ = slots_.chores;
    changes changes_;
    watching watches_;
    std::size_t handing_on_ = 0;
};

session_links& links_of(const grounds& in, session::session& host);

// The host's headers that this server's configuration lets go up.
std::vector<std::pair<std::string, std::string>>
headers_for(const upstream::server_settings& server, const net::fields* from);

} // namespace sluice::gateway
