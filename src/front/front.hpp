// The MCP endpoint over HTTP: turns requests into operations and operations into answers.
// Made for each configuration; `serve` is the handler of the listener. Spec: Streamable HTTP
// transport, R2–R4.
#pragma once

#include "aio/task.hpp"
#include "front/answers.hpp"
#include "front/doorman.hpp"
#include "front/guard.hpp"
#include "front/peers.hpp"
#include "front/routes.hpp"
#include "front/settings.hpp"
#include "gateway/gateway.hpp"
#include "mcp/errors.hpp"
#include "net/http_server.hpp"
#include "policy/keyring.hpp"
#include "sys/meters.hpp"
#include "wire/message.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::front {

// Why a request is not served.
struct refusal {
    int status = 400;
    std::string text;
    int code = mcp::code_invalid_request;
    std::string_view reason; // one word, for the log and the metric; empty = the status's own
    std::string id = {};     // of the request, JSON text; empty = null
    int retry_after = 0;     // seconds; 0 = none said
};
refusal because(int status, std::string text, std::string id = {});
// The same, and when the store was away a 503 that says so and when to try again.
refusal because_away(const base::fault& f, std::string id);
// Unknown, ended, another key's and another endpoint's are one answer.
base::fault no_such_session(endpoint at);
// With the fault's own status and reason; the code is the caller's.
refusal because(const base::fault& f, std::string id = {});
// Whether a request may begin under its id: while another has it, an answer or a cancel could be
// either's. Spec: "the request ID MUST NOT have been previously used".
base::result<void> check_id(const session::session& host, const wire::message& m);

class front {
public:
    front(
        gateway::gateway& through,
        const policy::keyring& keys,
        doorman& door,
        settings from,
        bool loopback
    );

    aio::task<> serve(net::exchange& http);

    // For what another replica must serve; without it there is none. Outlives this.
    void reach_others(peers& by) { peers_ = &by; }
    // A host's request that another replica passed on: who it is is known, Host and Origin were
    // looked at there. It goes no further.
    // With `said_by` it is what that upstream said to the other replica, for a call here.
    aio::task<> serve_forwarded(net::exchange& http, policy::caller who, std::string said_by);
    // Whether a request to the admin listener may see or end sessions.
    base::result<void> may_administer(const net::request_head& head) const {
        return guard_.check_operator(head);
    }
    // Room for the body of a request within gateway.inflight_bytes; null when there is none.
    std::shared_ptr<sys::budget::share> make_room(const net::request_head& head);

private:
    // What every endpoint knows before it looks at the method.
    struct visit {
        // Keeps this configuration's servers, as long as the request may call one.
        std::shared_ptr<const void> under;
        policy::caller who;
        catalog::scope where;
        endpoint at = endpoint::streamable;
        bool debug = false;          // the host asked how its request is resolved
        bool looked_for_key = false; // or was turned away before
        extra_headers headers;       // CORS and debugging, for whatever answer
        std::shared_ptr<const net::fields> upward;
        std::shared_ptr<sys::budget::share> held; // room for the body, as long as it is under way
        bool forwarded = false;                   // it came through another replica
        std::string said_by = {};                 // see serve_forwarded
    };

    using shared_message = std::shared_ptr<const wire::message>;
    using shared_session = std::shared_ptr<session::session>;

    // front_admit.cpp: who comes, where to, and whether that may be.
    base::result<void> admit(const net::request_head& head, visit& v) const;
    base::result<void> identify(const net::request_head& head, visit& v) const;
    base::result<void>
    find_scope(const net::request_head& head, std::string_view names, visit& v) const;
    // front_explain.cpp: what `x-sluice-debug: true` is answered with; names that the key may see.
    void explain(visit& v, const net::request_head& head) const;
    std::string explain_key(const visit& v, const net::request_head& head) const;
    extra_headers cors(const net::request_head& head) const;
    // `who` = null unless another replica has let him in. What is to be done when all of this has
    // ended, its frames too, is left in `rest`: a stream that is open for hours keeps that alone.
    aio::task<> serve_visit(net::exchange& http, visit v, aio::task<>& rest);

    // front_hop.cpp: lets that replica serve this request, and gives the host its answer.
    aio::task<> pass_on(net::exchange& http, const visit& v, std::string replica, std::string body);
    // A message of this request to that replica alone (whether it had a use for it), or to every
    // other live one, at once.
    aio::task<base::result<bool>>
    tell(const net::request_head& head, const visit& v, std::string replica, std::string body);
    aio::task<> take_for_call(net::exchange& http, const visit& v, std::string body);
    aio::task<told> tell_others(const net::request_head& head, const visit& v, std::string body);

    // The one way a request is turned away: answer, metric, log line.
    aio::task<> turn_away(net::exchange& http, const visit& v, refusal why);
    void note_refusal(
        const visit& v, const refusal& why, std::string_view method, std::string_view path
    ) const;
    // Of one that is told on a stream, not by the answer to its POST.
    void note_refusal_of_message(const visit& v, const base::fault& f) const;
    // front_session.cpp. The session a request names; null when the host has its answer: was told
    // why not, or served elsewhere. `id` is the request's, for a refusal; `body` what another
    // replica would need.
    aio::task<shared_session>
    session_of(net::exchange& http, visit& v, std::string id, std::string body);
    aio::task<shared_session>
    adopt(net::exchange& http, visit& v, std::string token, std::string id, std::string body);
    aio::task<shared_session> at_home(
        net::exchange& http, const visit& v, shared_session host, std::string id, std::string body
    );
    aio::task<bool> serve_at_home(
        net::exchange& http,
        const visit& v,
        session::registry::adopted where,
        std::string token,
        std::string body
    );
    bool serves(const session::session& host, const visit& v) const;
    bool may_be_elsewhere(const session::session& host, const visit& v) const;
    // Gives a notification or a response to whom it is for, here or on another replica. False for
    // an answer that nobody waits for.
    aio::task<base::result<bool>>
    hand_over(const net::request_head& head, const visit& v, shared_session host, shared_message m);
    // Null unless that cancel or answer is about what runs here.
    shared_session
    session_it_concerns(const net::request_head& head, const visit& v, const wire::message& note);
    std::string text_for_others(const wire::message& m) const;
    // The body as a message; null when the host was told why not.
    aio::task<shared_message> read_message(net::exchange& http, const visit& v, std::string body);

    aio::task<> serve_post(net::exchange& http, visit v);
    aio::task<> serve_get(net::exchange& http, visit& v, aio::task<>& rest);
    aio::task<>
    serve_standing(net::exchange& http, visit& v, shared_session host, aio::task<>& rest);
    aio::task<> serve_rest(
        net::exchange& http,
        visit& v,
        shared_session host,
        std::string last_event_id,
        aio::task<>& rest
    );
    aio::task<> serve_delete(net::exchange& http, visit& v);
    aio::task<> serve_options(net::exchange& http);

    // HTTP+SSE, front_sse.cpp: the GET that is a session, and the POSTs into it.
    aio::task<> serve_legacy(net::exchange& http, visit& v, aio::task<>& rest);
    aio::task<> serve_sse(net::exchange& http, visit& v, aio::task<>& rest);
    aio::task<> serve_sse_post(net::exchange& http, visit v);
    // The operation that began; null where none did.
    std::shared_ptr<const gateway::operation>
    accept_sse(visit v, shared_session host, shared_message m, aio::instant arrived);
    aio::task<> greet_sse(visit v, shared_session host, shared_message m, aio::instant arrived);

    aio::task<> serve_message(net::exchange& http, visit v, std::string body);
    aio::task<> serve_note(net::exchange& http, visit v, shared_session host, shared_message m);
    aio::task<> serve_batch(net::exchange& http, visit v, std::string body);
    std::shared_ptr<session::stream> start_all(
        const visit& v,
        const shared_session& host,
        const std::vector<shared_message>& requests,
        aio::instant arrived
    );
    aio::task<> serve_initialize(net::exchange& http, visit v, shared_message m);
    aio::task<> serve_request(net::exchange& http, visit v, shared_session host, shared_message m);
    aio::task<> serve_without_session(net::exchange& http, visit v, shared_message m);

    base::result<shared_session> find_session(const net::request_head& head, const visit& v);
    base::result<std::shared_ptr<const gateway::operation>> begin(
        const visit& v,
        shared_session host,
        std::shared_ptr<session::stream> out,
        shared_message m,
        std::uint32_t number,
        aio::instant arrived
    );
    // The body of a POST, with room for it held in `v`; nothing when the host was told why not.
    aio::task<std::optional<std::string>> receive(net::exchange& http, visit& v);

    gateway::gateway& through_;
    peers* peers_ = nullptr;
    const policy::keyring& keys_;
    doorman& door_;
    settings settings_;
    guard guard_;
    bool forwards_headers_;
};

} // namespace sluice::front
