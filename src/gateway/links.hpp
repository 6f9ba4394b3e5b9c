// The upstream sessions of one host session: one per upstream, opened on first use, never shared
// with another host (decision 1). Hung on the session; closed when it ends. Where the store is
// shared, an upstream session that can leave the process is written into the session's record, and
// whatever replica needs it takes it up from there (decision 2).
#pragma once

#include "aio/channel.hpp"
#include "aio/nursery.hpp"
#include "aio/task.hpp"
#include "base/result.hpp"
#include "gateway/hearing.hpp"
#include "gateway/operation.hpp"
#include "session/session.hpp"
#include "upstream/link.hpp"

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::gateway {

using shared_link = std::shared_ptr<upstream::link>;

class session_links : public session::attachment {
public:
    session_links(house& in, session::session& host)
        : in_(in), host_(host), chores_(host.get_executor(), "gateway") {}

    // The link to that server, opened when there is none usable; many callers wait for one opening,
    // each until its own `until`, or until `call` (may be null) is cancelled: the opening goes on.
    aio::task<base::result<shared_link>> ensure(
        std::size_t server,
        std::shared_ptr<const net::fields> headers,
        aio::instant until,
        std::shared_ptr<session::call> call = nullptr
    );

    // Links that are open now, with their server.
    std::vector<std::pair<std::size_t, shared_link>> open() const;

    // The host listens: upstreams that may say something outside calls are listened to as well,
    // those that are open now and those to come.
    void listen();
    // The host has asked for log messages: the same, for upstreams that log.
    void listen_for_level();
    // The level to set at that upstream: the host's own, or the most verbose of the sessions that
    // share the process. Each still hears no more than it asked for.
    std::string level_for(std::size_t server);

    // --- subscriptions to resources: which upstream each URI was subscribed at ---
    // Before the request goes up, as an update may overtake its answer; then what came of it.
    void subscribing(std::size_t server, const std::string& uri);
    void subscribed(std::size_t server, const std::string& uri, bool done);
    std::optional<std::size_t> subscribed_at(const std::string& uri) const;
    // Forgets one; false when other sessions keep the shared upstream's own subscription alive.
    bool unsubscribed(std::size_t server, const std::string& uri);
    bool asked_for_updates(std::size_t server, const std::string& uri, bool shared) const;

    // Passes a list_changed on, at most one per kind per second, the last one always: now on
    // `call`'s stream (the standing one when null), or in a while on the standing stream.
    void list_changed(const wire::message& note, session::stream* call);

    // After the upstream forgot the session, or the link broke: what the host had set and
    // subscribed is set and subscribed again, with one `updated` each for what may have been
    // missed.
    void set_up_again(std::size_t server);
    // One `updated` for each subscription: an update may have been missed.
    void may_have_changed(std::size_t server);
    void come_back(std::size_t server);

    aio::task<> close(bool for_all, state::fields record) override;

private:
    struct slot {
        shared_link link;
        bool opening = false;
        base::fault last;
        std::list<aio::signal_flag> waiting; // for the opening to end
        std::string handle;                  // of the link, as the record has it; empty = not there
        bool claims_standing = false;
        bool claiming = false;
        bool declares = false; // capabilities that let it ask the host
        std::shared_ptr<hearing> ear;
        std::shared_ptr<const net::fields> headers; // of the request that opened it
        std::map<std::string, bool> subscriptions;  // URI → the upstream has said yes
        bool coming_back = false;
    };
    struct storm {
        aio::instant quiet_until{};
        bool waiting = false;
        std::string latest;
    };

    aio::task<> open_for_all(std::size_t server);
    aio::task<base::result<shared_link>> open_one(std::size_t server);
    upstream::open_request request_for(std::size_t server) const;
    // Links in the record, links_kept.cpp.
    bool is_kept(std::size_t server) const;
    std::string field_of(std::string_view kind, std::size_t server) const;
    aio::task<base::result<shared_link>> open_kept(std::size_t server);
    aio::task<base::result<shared_link>> publish(std::size_t server, shared_link made);
    aio::task<> publish_again(std::size_t server);
    void open_standing(std::size_t server);
    aio::task<> claim_standing(std::size_t server);
    aio::task<std::string> try_to_claim(std::size_t server);
    aio::task<> outwait(std::string holder);
    aio::task<> release_standing(std::size_t server);
    aio::task<> close_here(bool for_all);
    static aio::task<> close_link(shared_link link);
    aio::task<> close_left(state::fields record);
    slot& slot_of(std::size_t server);
    void listen_where_worth();
    bool worth_listening(const slot& s) const;
    aio::task<> set_level(std::size_t server, shared_link link, aio::instant until);
    aio::task<> leave_level(std::size_t server, shared_link link);
    aio::task<> subscribe_again(std::size_t server, bool level_too);
    aio::task<> open_again(std::size_t server);
    aio::task<> send_later(std::string method);
    aio::task<> leave_shared(std::size_t server, slot& s);

    house& in_;
    session::session& host_;
    std::map<std::size_t, std::unique_ptr<slot>> slots_;
    std::map<std::string, storm> storms_; // by method: three kinds
    aio::nursery chores_;
    bool listening_ = false;
    bool closing_ = false;
};

// Whether the upstream of a link is one process shared by all host sessions: then it is not ours to
// close.
bool is_shared(const upstream::server_settings& s);
bool is_list_change(const wire::message& note);
// One request of ours and its answer, told to nobody; questions meanwhile are refused.
aio::task<base::result<wire::message>>
ask_quietly(shared_link link, std::string method, std::string params, aio::instant until);

session_links& links_of(house& in, session::session& host);

// The host's headers that this server's configuration lets go up.
std::vector<std::pair<std::string, std::string>>
headers_for(const upstream::server_settings& server, const net::fields* from);

} // namespace sluice::gateway
