// One JSON-RPC 2.0 message: its bytes and where the members that matter stand in them.
// One strict pass records every span; forwarding splices and copies the rest untouched.
// Spans are offsets: a message may be moved and copied freely.
#pragma once

#include "base/result.hpp"
#include "wire/json.hpp"
#include "wire/token.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::wire {

enum class message_kind : std::uint8_t { request, notification, result, error };

struct message {
    std::string bytes;
    message_kind kind = message_kind::notification;
    bool is_error = false; // result.isError is true
    // What its receiver wants to live as long as the bytes do (room in a budget); often nothing.
    std::shared_ptr<const void> held;

    // Top level. An error's id may be null or missing (its sender could not read ours): absent
    // here.
    span id, method, params, result, error;

    // Inside params. `name` … `progress` are recorded whatever their type; who uses one checks it.
    span name, uri, cursor, ref, arguments, meta;
    span request_id, level, protocol_version, capabilities, client_info, reason, progress;
    span ref_type, ref_name, ref_uri;
    // Requests: params._meta.progressToken. notifications/progress: params.progressToken.
    span progress_token;
    // params._meta["io.modelcontextprotocol/protocolVersion"]: the claim to be a modern request.
    span meta_protocol_version;

    // Inside result and error. A null nextCursor counts as absent.
    span next_cursor, result_meta;
    span error_code, error_message;

    bool is_request() const { return kind == message_kind::request; }
    bool is_notification() const { return kind == message_kind::notification; }
    bool is_response() const { return !is_request() && !is_notification(); }

    std::string_view view(span s) const { return s.of(bytes); }
    // The unescaped string there; nothing when absent or not a string.
    std::optional<std::string> string_at(span s) const;
    std::string method_text() const { return string_at(method).value_or(std::string()); }
    bool method_is(std::string_view plain) const;
    std::optional<token> id_token() const { return token_at(id); }
    std::optional<token> request_id_token() const { return token_at(request_id); }
    std::optional<token> token_at(span s) const;
};

// What can be told of a message that is not accepted, for whoever must not leave its sender without
// an answer.
struct unaccepted {
    std::string id; // exact text; empty where there is no sound one
    // It has a method, so it answers nothing: a request, or without an id a notification. Never
    // where a watched member is there twice.
    bool is_call = false;
};

// Faults: parse_error (not JSON, -32700), invalid_request (JSON, not a message we accept: wrong
// envelope, bad id, a watched member twice, -32600), invalid_params (array params, _meta that is no
// object, a progress token or cancelled request id that is no string or integer, -32602).
// On a fault `readable_id`, if given, gets the exact text of a sound id, for the answer's id.
base::result<message>
parse_message(std::string bytes, json_limits limits = {}, std::string* readable_id = nullptr);
base::result<message> parse_message(std::string bytes, json_limits limits, unaccepted& known);

// Of a message of which only the beginning is known: the exact text of its id, an empty one when it
// is no response; nothing when the beginning does not tell.
std::optional<std::string> response_id_of(std::string_view beginning);

// The first thing that is not white space opens an array.
bool looks_like_batch(std::string_view bytes);

// The elements of a batch, exact text. An empty batch or no array is an invalid_request.
base::result<std::vector<std::string>> split_batch(std::string_view bytes, json_limits limits = {});

// Writers. Texts are JSON text, `method` and `message` plain UTF-8. Results have no line breaks.
std::string make_result(std::string_view id_text, std::string_view result_text);
std::string make_error(
    std::string_view id_text, int code, std::string_view message, std::string_view data_text = {}
);
std::string
make_request(std::string_view id_text, std::string_view method, std::string_view params_text = {});
std::string make_notification(std::string_view method, std::string_view params_text = {});

// The message with some spans replaced, in one copy, fit for one SSE data line or one stdio line.
// Edits may come in any order; one on an absent span is left out.
std::string rewrite(const message& source, std::vector<edit> edits);

// In valid JSON a raw CR or LF can only stand between tokens: each becomes a space.
void flatten(std::string& json_text);

} // namespace sluice::wire
