// The texts of MCP's opening and of our other own messages to an upstream. Pure.
// Spec: Lifecycle (initialize), Cancellation.
#pragma once

#include "base/result.hpp"
#include "upstream/link.hpp"
#include "upstream/server.hpp"
#include "wire/message.hpp"

#include <string>

namespace sluice::upstream {

// An initialize request; its id is put in when it is sent.
base::result<wire::message> make_initialize(const open_request& request);

// What the upstream answered. errc::upstream_error when it refused, errc::protocol when its answer
// is no initialize result or names a revision that we do not speak.
base::result<peer_info> read_initialize(const wire::message& response);

extern const char* const initialized_text;

// notifications/cancelled for our own request id; `reason_json` is JSON text or empty.
std::string make_cancelled(std::string_view id_text, std::string_view reason_json);

// The request with our id and, where it has one, our progress token; the caller's edits done.
std::string for_this_hop(const outgoing& request, std::string_view id_text);

// What we answer ourselves to a request of the upstream's: a ping, one that no client knows, or one
// that belongs to no call.
std::string answer_to(const wire::message& request);
// To one that would wait with too many others for its call to take it, or for its host.
inline constexpr std::string_view flooded = "too many questions are open in this call";
std::string answer_to_flood(const wire::message& request);

// What we answer to a request that is not well formed.
std::string refusal_of(const wire::unaccepted& request, const base::fault& why);

// Whether a notification is about the session as a whole, whatever call is under way.
bool is_of_session(const wire::message& note);

// Whether an event id may be sent back as a header field's value.
bool is_sendable_id(std::string_view id);

// An HTTP status that is no success, as a fault.
base::fault refused(int status);

// A connection that broke too late to say that nothing ran.
base::fault outcome_unknown(std::string_view what);

// Of an answer's body: errc::protocol when it is compressed, which we never ask for.
base::result<void> is_readable(const net::response_head& head);

// A fault of the parser, said of the upstream.
base::fault broke_protocol(const base::fault& parsing);

} // namespace sluice::upstream
