// What one host session hears of its upstreams outside calls: which replica listens to each of
// them (it stands in the session's record), the resources that the session is subscribed to, the
// level it set, and all of that again where an upstream, or a replica, has forgotten it. A process
// that sessions share is one of each replica: of a session's subscriptions there one replica's
// process is told, and another's when that replica is gone. Decision 2. Owned by session_links.
#pragma once

#include "aio/task.hpp"
#include "gateway/slots.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::gateway {

class session_links;

class watching {
public:
    watching(slots& all, session_links& by) : slots_(all), links_(by) {}

    // The host listens: upstreams that may say something outside calls are listened to as well,
    // those that are open now and those to come, also those that only other replicas have opened
    // or subscribed at.
    void listen();
    // The host has asked for log messages: the same, for upstreams that log.
    void listen_where_worth();
    // The level to set at that upstream: the host's own, or the most verbose of the sessions that
    // share the process. Each still hears no more than it asked for.
    std::string level_for(const shared_served& server);

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
    // An update may have been: one `updated` for each subscription.
    void missed(const shared_served& server);
    // The link broke: it is opened again where something is subscribed.
    void come_back(const shared_served& server);

    // --- links, as session_links opens, keeps and leaves them ---
    aio::task<> set_level(shared_served server, shared_link link, aio::instant until);
    void opened(const shared_slot& s);
    // The link stands in the record in the place of another: who listened to that one hears nothing
    // any more, and this replica listens now.
    void stands_anew(const shared_slot& s);
    bool worth_listening(const slot& s) const;
    // After the upstream forgot the session: what the host had set and subscribed is set and
    // subscribed again, with one `updated` each for what may have been missed.
    aio::task<> set_up_again(shared_slot s);
    // The session goes from there. `for_all` = it has ended on every replica.
    aio::task<> leave(shared_slot s, bool for_all);
    // As session::attachment.
    void others_say(std::string_view server);

private:
    // watching.cpp
    void open_standing(const shared_slot& s);
    aio::task<> claim_in_turn(shared_slot s);
    bool would_claim(const slot& s) const;
    aio::task<> outwait(shared_slot s, std::string holder);
    aio::task<> take_up_all();
    void tell_of_watch(const slot& s);
    aio::task<> look_at_watch(shared_slot s);
    aio::task<> open_again(shared_slot s);
    void remember_permission(slot& s) const;
    aio::task<> leave_level(shared_slot s);
    // watching_subscribed.cpp
    aio::task<> keep_subscription(shared_slot s, std::string uri);
    aio::task<> forget_subscription(shared_slot s, std::string uri);
    std::string subscription_field(const served& server, std::string_view uri) const;
    std::vector<std::string>
    subscriptions_in(const state::fields& record, const served& server) const;
    aio::task<std::vector<std::string>> subscriptions_of(shared_slot s);
    aio::task<> tell_all_updated(shared_slot s);
    enum class came : std::uint8_t { yes, no, nothing, not_allowed };
    aio::task<came> subscribe_at(shared_slot s, shared_link link, std::string uri);
    aio::task<> subscribe_again(shared_slot s);
    aio::task<bool> subscribe_to(shared_slot s, std::vector<std::string> uris);
    aio::task<> leave_subscription(shared_slot s, std::string uri, aio::instant until);
    aio::task<bool> follow_record(shared_slot s);

    slots& slots_;
    session_links& links_; // owns this
    const grounds& in_ = slots_.in;
    session::session& host_ = slots_.host;
    aio::nursery& chores_ = slots_.chores;
    bool listening_ = false;
};

} // namespace sluice::gateway
