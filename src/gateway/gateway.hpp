// The walk of one operation: authorise → guard → dispatch → outcome → record, the same for every
// endpoint and revision. The only room where sessions, policy, catalogue and upstreams meet.
#pragma once

#include "aio/nursery.hpp"
#include "aio/task.hpp"
#include "base/result.hpp"
#include "gateway/operation.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace sluice::gateway {

struct hello {
    std::shared_ptr<session::session> host;
    std::string answer; // the whole JSON-RPC response
    int http_status = 200;
    aio::duration waited{0};  // for upstreams
    std::string problem = {}; // for the log only: may name addresses and files
};

// Whose `initialize` it was, for its log line.
struct greeting {
    const policy::principal& who;
    std::string_view endpoint;
    aio::instant arrived; // the head of its request
    aio::instant began;   // its walk: until then it was queued
};

class gateway {
public:
    explicit gateway(house& in);

    // The servers that a path element list ("a,b"; empty = all) means for this caller.
    // errc::not_found naming the first unknown one; unknown and not permitted are the same
    // sentence.
    base::result<catalog::scope>
    scope_for(const policy::principal& who, std::string_view names) const;
    // `x-mcp-servers`: narrows a scope; an empty list means none.
    base::result<catalog::scope> narrow(catalog::scope where, std::string_view names) const;

    // A session that any replica can find. errc::unreachable when the store is away.
    aio::task<base::result<std::shared_ptr<session::session>>> open_session(session::identity who);

    // Whether a session there has something that cannot leave its replica, and so needs a home.
    bool lives_here_only(const catalog::scope& where) const;

    // `initialize`: opens the host's session (and on a single-server endpoint its upstream's).
    aio::task<hello> greet(
        std::shared_ptr<const wire::message> message,
        policy::caller who,
        catalog::scope where,
        std::shared_ptr<const net::fields> headers
    );

    // The same in a session that exists already (HTTP+SSE: its GET opened it). hello.host is null
    // when it failed; the session is the caller's to end.
    aio::task<hello> greet_in(
        std::shared_ptr<const wire::message> message,
        std::shared_ptr<session::session> host,
        catalog::scope where,
        std::shared_ptr<const net::fields> headers
    );

    // The log line and the metrics of an `initialize` that has been answered.
    void record_greeting(const hello& said, const greeting& of);

    // Starts any other request; its answer comes on op->call's stream.
    void start(shared_operation op);
    // Which replica a notification or a response is for: the one that runs the call it names, or
    // waits for that answer. errc::unreachable when the store is away, or that replica when it
    // waits for an answer; errc::not_found when the session has ended.
    struct addressee {
        bool here = true;
        bool everyone = false; // the call may be on any, too young to have a record
        std::string replica;   // else this one
        std::string orphaned;  // the stream of the call to cancel: its replica is dead
    };
    aio::task<base::result<addressee>>
    addressee_of(std::shared_ptr<session::session> host, std::shared_ptr<const wire::message> m);
    // Cancels a call whose replica is dead, where its upstream can still be told. errc::unreachable
    // when that is not known in time.
    aio::task<base::result<void>> cancel_orphan(
        std::shared_ptr<session::session> host,
        std::string stream,
        std::shared_ptr<const wire::message> cancel
    );
    bool waits_for(session::session& host, const wire::message& response) const;
    // It cancels a call that runs here, or answers a question that was asked here.
    bool is_about_ours(session::session& host, const wire::message& message) const;
    // What an upstream (a field of the session's record) said to another replica, for a call here;
    // false when it is of none.
    bool
    take_for_call(session::session& host, std::string_view upstream, const wire::message& said);
    // A notification or a response of the host, for this replica. With the headers it came with.
    void take(
        session::session& host,
        const wire::message& message,
        const std::shared_ptr<const net::fields>& headers = nullptr
    );

    // The host has opened its standing stream.
    void listens(session::session& host);

    // Learns what every upstream is, in the background.
    void learn_peers();
    // Stops that; its servers go on. shut_down() ends them too.
    aio::task<> settle();
    aio::task<> shut_down();

    house& in() { return in_; }

private:
    aio::task<> run(shared_operation op);
    aio::task<> walk(shared_operation op);
    // Learns in the background what a server is to those who come so; once.
    void meet(std::size_t server, upstream::open_request request);
    aio::task<>
    learn_peer(std::size_t server, catalog::viewpoint from, upstream::open_request request);
    aio::task<> know_peers(
        const catalog::scope& where,
        const session::session& host,
        const std::shared_ptr<const net::fields>& headers
    );
    const upstream::peer_info*
    seen_by(const session::session& host, const net::fields* headers, std::size_t server) const;
    std::string describe_aggregate(
        const catalog::scope& where, const session::session& host, const net::fields* headers
    ) const;
    aio::task<hello> welcome(
        std::shared_ptr<const wire::message> message,
        std::shared_ptr<session::session> host,
        catalog::scope where,
        std::shared_ptr<const net::fields> headers
    );
    aio::task<hello> greet_single(
        std::shared_ptr<const wire::message> message,
        std::shared_ptr<session::session> host,
        catalog::scope where,
        std::shared_ptr<const net::fields> headers
    );

    house& in_;
    aio::nursery background_;
};

} // namespace sluice::gateway
