// The upstream sessions of one host session: one per upstream, opened on first use, never shared
// with another host (decision 1). Hung on the session; closed when it ends. Where the store is
// shared, an upstream session that can leave the process is written into the session's record, and
// whatever replica needs it takes it up from there (decision 2). Outlives reloads of the
// configuration: a link stands with the server it was made with (gateway::served).
#pragma once

#include "aio/channel.hpp"
#include "aio/nursery.hpp"
#include "aio/task.hpp"
#include "base/result.hpp"
#include "gateway/changes.hpp"
#include "gateway/hearing.hpp"
#include "gateway/operation.hpp"
#include "session/session.hpp"
#include "upstream/link.hpp"

#include <chrono>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sluice::gateway {

using shared_link = std::shared_ptr<upstream::link>;

class session_links : public session::attachment {
public:
    session_links(const grounds& in, session::session& host)
        : in_(in), host_(host), chores_(host.get_executor(), "gateway"), changes_(host, chores_) {}

    // The link to that server, opened when there is none usable; many callers wait for one opening,
    // each until its own `until`, or until `call` (may be null) is cancelled: the opening goes on.
    aio::task<base::result<shared_link>> ensure(
        shared_served server,
        std::shared_ptr<const net::fields> headers,
        aio::instant until,
        std::shared_ptr<session::call> call = nullptr
    );

    // The link to that server that is open now, or null.
    shared_link open_link(const served& server) const;

    // --- a reload of the configuration ---
    // The session may use these servers now. What others say outside calls is not heard any more;
    // calls under way there go on.
    void keep_only(const std::vector<shared_served>& allowed);
    // No call is under way there any more: closes what keep_only() left out.
    void let_go();

    // The host listens: upstreams that may say something outside calls are listened to as well,
    // those that are open now and those to come.
    void listen();
    // The host has asked for log messages: the same, for upstreams that log.
    void listen_for_level();
    // The level to set at that upstream: the host's own, or the most verbose of the sessions that
    // share the process. Each still hears no more than it asked for.
    std::string level_for(const shared_served& server);

    // The host's roots have changed: its notification goes to every upstream session of this host
    // that may ask for them and was told that it would be told, also to those that only other
    // replicas have used. None is opened for it.
    void roots_changed(const std::string& note, const std::shared_ptr<const net::fields>& headers);

    // --- subscriptions to resources: which upstream each URI was subscribed at ---
    // Before the request goes up, as an update may overtake its answer; then what came of it.
    void subscribing(const shared_served& server, const std::string& uri);
    void subscribed(const shared_served& server, const std::string& uri, bool done);
    shared_served subscribed_at(const std::string& uri) const; // null = nowhere
    // The same of other replicas, by the record.
    aio::task<shared_served> subscribed_elsewhere(std::string uri);
    // Whichever replica subscribed: nobody does so again.
    void unsubscribing(const shared_served& server, const std::string& uri);
    // Forgets one; false when other sessions keep the shared upstream's own subscription alive.
    bool unsubscribed(const shared_served& server, const std::string& uri);
    bool asked_for_updates(const served& server, const std::string& uri, bool shared) const;

    changes& of_lists() { return changes_; }

    // What the upstream said to a call that does not run here goes to the replica that runs it, or
    // is refused. False when there can be none.
    bool look_elsewhere(const shared_served& server, const wire::message& said);
    // What an upstream (a field of the record) said to another replica, for a call here; false when
    // it is of none.
    bool take_for_call(std::string_view upstream, const wire::message& said);

    // After the upstream forgot the session, or the link broke: what the host had set and
    // subscribed is set and subscribed again, with one `updated` each for what may have been
    // missed.
    void set_up_again(const shared_served& server);
    // One `updated` for each subscription: an update may have been missed.
    void may_have_changed(const shared_served& server);
    void come_back(const shared_served& server);

    aio::task<> close(bool for_all, state::fields record) override;
    void others_say(std::string_view server) override;

private:
    struct slot {
        shared_served of;
        shared_link link;
        bool opening = false;
        base::fault last;
        std::list<aio::signal_flag> waiting; // for the opening to end
        std::string handle;                  // of the link, as the record has it; empty = not there
        bool claims_standing = false;
        bool claiming = false;
        bool publishing = false; // later, as the store was away
        bool replaces = false;   // the link is a new one, in the place of one that the record had
        bool declares = false;   // capabilities that let it ask the host
        std::shared_ptr<hearing> ear;
        std::shared_ptr<const net::fields> headers; // of the request that opened it
        std::map<std::string, bool> subscriptions;  // URI → the upstream has said yes
        std::set<std::string> noted;                // of them, those that the record has
        // Of a shared process over replicas, links_shared.cpp.
        bool watches = false; // somebody is subscribed
        bool missed = false;  // nobody heard for a while
        bool looking = false;
        bool look_again = false;
        bool coming_back = false;
        // Of a process that sessions share: what was set there under it is taken back under it,
        // also when the session may use the server no more.
        std::shared_ptr<const policy::grant> allowed;
        bool left = false;   // the session may not use that server any more
        bool closed = false; // nobody finds this slot any more
    };
    using shared_slot = std::shared_ptr<slot>; // also of the errands that run for it

    aio::task<> hand_on(shared_slot s, std::shared_ptr<const wire::message> said);
    aio::task<> open_for_all(shared_slot s);
    aio::task<base::result<shared_link>> open_one(shared_slot s);
    bool subscribes_again(const slot& s) const;
    upstream::open_request request_for(const slot& s) const;
    // Links in the record, links_kept.cpp.
    bool is_kept(const served& server) const;
    std::string field_of(std::string_view kind, const served& server) const;
    aio::task<base::result<shared_link>> open_kept(shared_slot s);
    aio::task<base::result<shared_link>> publish(shared_slot s, shared_link made);
    aio::task<base::result<std::string>> enter(shared_slot s, std::string handle);
    aio::task<> publish_again(shared_slot s);
    aio::task<> publish_later(shared_slot s);
    aio::task<> give_way(shared_slot s, shared_link link);
    static bool is_published(const slot& s);
    void stands_in_its_place(const shared_slot& s);
    std::string subscription_field(const served& server, std::string_view uri) const;
    aio::task<> keep_subscription(shared_slot s, std::string uri);
    aio::task<> forget_subscription(shared_slot s, std::string uri);
    std::vector<std::string>
    subscriptions_in(const state::fields& record, const served& server) const;
    aio::task<> take_up(shared_served server);
    aio::task<std::vector<std::string>> subscribed_anywhere(shared_slot s);
    aio::task<> tell_all_updated(shared_slot s);
    void open_standing(const shared_slot& s);
    aio::task<> claim_standing(shared_slot s);
    aio::task<> take_up_all();
    aio::task<> outwait(shared_slot s, std::string holder);
    // Subscriptions at shared processes, links_shared.cpp.
    aio::task<> take_watch(shared_slot s);
    void tell_of_watch(const slot& s);
    aio::task<> look_at_watch(shared_slot s);
    aio::task<> watch_in_turn(shared_slot s);
    aio::task<bool> follow_record(shared_slot s);
    aio::task<bool> subscribe_to(shared_slot s, std::vector<std::string> uris);
    aio::task<> leave_subscription(shared_slot s, std::string uri, aio::instant until);
    static void note_subscribed(slot& s, const std::string& uri, bool done);
    aio::task<> close_here(bool for_all);
    static aio::task<> close_link(shared_link link);
    aio::task<> wait_for_others(const state::fields& record);
    aio::task<> close_left(state::fields record);
    // What the host says of its roots, links_roots.cpp.
    bool hears_of_roots(const served& server) const;
    aio::task<> tell_of_roots(
        shared_served server, std::string note, std::shared_ptr<const net::fields> headers
    );
    aio::task<bool> is_open_elsewhere(shared_served server);
    shared_slot slot_of(const shared_served& server);
    const slot* find_slot(const served& server) const;
    static bool drop_subscription(slot& s, const std::string& uri);
    aio::task<> leave(shared_slot s);
    void listen_where_worth();
    bool worth_listening(const slot& s) const;
    aio::task<> set_level(shared_served server, shared_link link, aio::instant until);
    void remember_permission(slot& s) const;
    aio::task<> leave_level(shared_slot s);
    aio::task<> subscribe_again(shared_slot s, bool level_too);
    static std::vector<std::string> subscribed_here(const slot& s);
    aio::task<> open_again(shared_slot s);
    aio::task<> leave_shared(shared_slot s);

    grounds in_;
    session::session& host_;
    std::map<const served*, shared_slot> slots_;
    aio::nursery chores_;
    changes changes_;
    std::size_t handing_on_ = 0;
    bool listening_ = false;
    bool closing_ = false;
};

// What is told upstream when nobody waits for what comes of it.
inline constexpr auto farewell = std::chrono::seconds(2);
// Between two tries to write into the session's record while the store is away.
inline constexpr auto record_pace = std::chrono::milliseconds(500);

// Whether the upstream of a link is one process shared by all host sessions: then it is not ours to
// close.
bool is_shared(const upstream::server_settings& s);
bool is_list_change(const wire::message& note);
// One request of ours and its answer, told to nobody; questions meanwhile are refused. Throws when
// the grant is for another server.
struct own_request {
    policy::grant allowed;
    std::string method;
    std::string params;
    aio::instant until = aio::never;
};
std::string uri_params(const std::string& uri);
std::string updated(const std::string& uri); // the notification
aio::task<base::result<wire::message>>
ask_quietly(const served& server, shared_link link, own_request what);

session_links& links_of(const grounds& in, session::session& host);

// The host's headers that this server's configuration lets go up.
std::vector<std::pair<std::string, std::string>>
headers_for(const upstream::server_settings& server, const net::fields* from);

} // namespace sluice::gateway
