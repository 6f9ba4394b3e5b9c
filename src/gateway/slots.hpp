// The upstreams of one host session as they stand on this replica: a slot for each, which
// session_links opens and keeps, and watching listens to. Owned by session_links.
#pragma once

#include "aio/channel.hpp"
#include "aio/nursery.hpp"
#include "base/result.hpp"
#include "gateway/operation.hpp"
#include "session/session.hpp"
#include "upstream/link.hpp"

#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

namespace sluice::gateway {

class hearing;
using shared_link = std::shared_ptr<upstream::link>;

struct slot {
    shared_served of;
    shared_link link;
    std::shared_ptr<const net::fields> headers; // of the request that opened it
    bool left = false;                          // the session may not use that server any more
    bool closed = false;                        // nobody finds this slot any more

    // Of session_links.
    bool opening = false;
    base::fault last;
    std::list<aio::signal_flag> waiting; // for the opening to end
    std::string handle;                  // of the link, as the record has it; empty = not there
    bool publishing = false;             // later, as the store was away
    bool declares = false;               // capabilities that let it ask the host
    std::shared_ptr<hearing> ear;

    // Of watching: who hears it for the session.
    bool claims_standing = false;
    bool claiming = false;
    bool replaces = false; // whoever hears it: the link is in the place of the one that he has
    std::map<std::string, bool> subscriptions; // URI → the upstream has said yes
    std::set<std::string> noted;               // of them, those that the record has
    bool coming_back = false;
    // Of a process that sessions share: what was set there under it is taken back under it, also
    // when the session may use the server no more.
    std::shared_ptr<const policy::grant> allowed;
    // Of such a process over replicas.
    bool watches = false; // somebody is subscribed
    bool missed = false;  // nobody heard for a while
    bool looking = false;
    bool look_again = false;
};
using shared_slot = std::shared_ptr<slot>; // also of the errands that run for it

struct slots {
    slots(const grounds& on, session::session& of)
        : in(on), host(of), chores(of.get_executor(), "gateway") {}

    shared_slot at(const shared_served& server);
    const slot* find(const served& server) const;

    // Whether upstream sessions there stand in the session's record.
    bool is_kept(const served& server) const;
    // That record, and its field of that kind for this server.
    state::store& store() const { return in.sessions.kept()->store(); }
    std::string record() const { return session::records::record_key(host.who().key); }
    std::string field(std::string_view kind, const served& server) const;

    grounds in;
    session::session& host;
    std::map<const served*, shared_slot> all;
    aio::nursery chores;
    bool closing = false;
};

// Null where the record has no such field.
const std::string* value_in(const state::fields& record, std::string_view field);

// Whether what a host or an upstream declared has {kind: {flag: true}}.
bool has_flag(std::string_view capabilities, std::string_view kind, std::string_view flag);

// Between two tries to write into the session's record while the store is away.
inline constexpr auto record_pace = std::chrono::milliseconds(500);

} // namespace sluice::gateway
