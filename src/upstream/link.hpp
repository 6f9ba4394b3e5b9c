// One MCP session with one upstream, seen from the gateway: requests in, pulled replies out.
// Every transport (http, sse, stdio) is a link; the gateway sees no difference.
// Spec: Streamable HTTP and stdio transports, revisions 2024-11-05 … 2025-11-25.
#pragma once

#include "aio/task.hpp"
#include "base/result.hpp"
#include "wire/message.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::upstream {

// What the upstream said of itself when the session was opened; texts are its exact JSON.
struct peer_info {
    std::string revision;     // negotiated, e.g. "2025-06-18"
    std::string capabilities; // JSON object
    std::string server_info;  // JSON object
    std::string instructions; // decoded text, empty when none
};

// How often a request may be sent (docs/decisions: reused connections).
enum class repeat : std::uint8_t {
    never, // tools/call and whatever may act: never again once a byte was written
    once,  // lists and reads: once more, on a fresh connection
};

// A request for an upstream. The link mints the id (and, where the message has a progress token,
// the token) for its hop and splices both; `edits` are the caller's own (names). Nothing else
// changes.
struct outgoing {
    std::shared_ptr<const wire::message> message;
    struct edit {
        wire::span where;
        std::string with; // JSON text
    };
    std::vector<edit> edits;
    std::vector<std::pair<std::string, std::string>> headers; // host headers allowed to go up
    bool own = false; // the gateway's own: goes with the headers of the newest of the host's
    repeat again = repeat::never;
    aio::instant until = aio::never; // connect, send and first byte
    // Where given, steps tell where the answer stands, and this hears of it when the request goes
    // out and when the upstream says so without a message.
    std::function<void(std::string mark)> marked;
};

// A step of an answer.
struct step {
    enum class kind : std::uint8_t {
        message, // a notification or request (but ping) of the upstream, or the one response
        pause,   // the upstream closed its stream on purpose and will go on after `retry_ms`
                 // (2025-11-25)
    };
    kind what = kind::message;
    wire::message message;
    std::uint32_t retry_ms = 0;
    // Where the answer stands once this message has been passed on (see link::resume); empty when
    // nobody asked, or the upstream gives no event ids.
    std::string mark = {};
    // A request that came on a stream which the session's calls share and names no task: this call
    // is the only one under way on this link. Other links that hold the session may have others.
    bool presumed = false;
};

// One call's answer: zero or more notifications, then exactly one response; then errc::closed.
// Pulled by one coroutine of the gateway, which is also the one to call cancel(). Destroying it
// early abandons the call without telling the upstream.
class reply {
public:
    virtual ~reply() = default;

    // The next step; errc::timeout at `until` (the reply stays usable), errc::cancelled after
    // interrupt(), any other fault ends the reply: unauthorized/forbidden/upstream_error with
    // http_status when the upstream answered by HTTP status; unreachable (surely not run), closed
    // (connection lost: outcome unknown), protocol (broke MCP), too_large.
    virtual aio::task<base::result<step>> next(aio::instant until) = 0;

    // Makes a pending and every later next() return errc::cancelled. Any time, also from a handler.
    virtual void interrupt() = 0;

    // Sends notifications/cancelled with the upstream's own request id, then gives the call up.
    // `reason_json` is the JSON text of params.reason, empty for none. Bounded in time; never
    // throws.
    virtual aio::task<> cancel(std::string reason_json) = 0;
};

// Who hears what an upstream says outside calls. Called from the link's reader: returns at once.
class listener {
public:
    virtual ~listener() = default;
    // A notification that belongs to no call.
    virtual void heard(const wire::message& note) = 0;
    // A request, or the end of one, that came where all calls are heard and is of none here: other
    // holders of the session may have its call. True when it is seen to: a request is answered
    // then.
    virtual bool unclaimed([[maybe_unused]] const wire::message& said) { return false; }
    // The upstream had forgotten the session and a new one stands in its place: what was subscribed
    // or set in the old one is gone.
    virtual void reopened() = 0;
    // The stream for what belongs to no call was away, and what came meanwhile cannot be had.
    virtual void missed() {}
    // The link broke; not told after close().
    virtual void lost() = 0;
};

class link {
public:
    virtual ~link() = default;

    virtual const peer_info& peer() const = 0;

    // Sends; returns when the request is written, so that a cancel finds the reply. What the
    // answer's head tells (a status, a lost connection) comes from next(). Faults as reply::next;
    // errc::too_many when max_concurrent_requests is reached. An upstream that forgot the session
    // (404) is opened anew once, where nothing can have run.
    virtual aio::task<base::result<std::unique_ptr<reply>>> call(outgoing request) = 0;

    // Goes on with an answer that another replica had begun to read: `mark` is what its reply said
    // last, `request` the message that was answered, for its progress token only. Nothing is sent
    // again. errc::unsupported where answers cannot be resumed. Spec: "Resumability and
    // Redelivery".
    virtual aio::task<base::result<std::unique_ptr<reply>>>
    resume([[maybe_unused]] std::string mark, [[maybe_unused]] outgoing request) {
        co_return base::fault(base::errc::unsupported, "its answers cannot be resumed");
    }

    // Tells the upstream that the answer which another replica had begun to read is not wanted any
    // more; never throws. Nothing where no call outlives its replica.
    virtual aio::task<> call_off(
        [[maybe_unused]] std::string mark,
        [[maybe_unused]] std::string reason_json,
        [[maybe_unused]] aio::instant until
    ) {
        co_return;
    }

    // What another replica needs to take this session up; empty where it cannot leave the process.
    // Holds the upstream's session id: a secret of the store.
    virtual std::string handle() const { return {}; }

    // Sends one notification, or one response to a request of the upstream's (a whole JSON-RPC
    // text).
    virtual aio::task<base::result<void>> notify(std::string bytes, aio::instant until) = 0;

    // What another holder of this session heard (see listener::unclaimed), for a call on this link;
    // false when it belongs to none.
    virtual bool take_for_call([[maybe_unused]] const wire::message& said) { return false; }

    // Tells `who` from now on, for as long as it lives. A link that several host sessions share has
    // several listeners.
    virtual void add_listener(std::weak_ptr<listener> who) = 0;

    // Where the channel for what belongs to no call is a stream of its own (Streamable HTTP: GET),
    // opens it in the background and keeps it open; costs a connection. Of all links that hold one
    // session, on whatever replica, one may.
    virtual void open_standing() {}
    // The same after another replica did: missed() is told when it stands, for what came between.
    virtual void take_over_standing() {}

    // Ends the session at the upstream (HTTP: DELETE). Bounded in time. The link is then unusable.
    virtual aio::task<> close() = 0;

    // False once the session is known to be gone (closed, child died); open a new one then.
    virtual bool usable() const = 0;
};

} // namespace sluice::upstream
