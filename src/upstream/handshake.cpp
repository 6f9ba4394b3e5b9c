#include "upstream/handshake.hpp"

#include "base/text.hpp"
#include "mcp/client_capabilities.hpp"
#include "mcp/errors.hpp"
#include "mcp/revision.hpp"
#include "upstream/related_task.hpp"

#include <algorithm>
#include <array>

namespace sluice::upstream {

namespace {

base::fault not_an_answer(std::string_view what) {
    return {base::errc::protocol, "its answer to initialize " + std::string(what)};
}

constexpr std::array<std::string_view, 4> watched = {
    "protocolVersion", "capabilities", "serverInfo", "instructions"
};
constexpr std::array<std::string_view, 5> kinds = {
    "logging", "completions", "prompts", "resources", "tools"
};
constexpr std::array<std::string_view, 2> flags = {"listChanged", "subscribe"};

// Whether a member that somebody reads occurs twice at its level.
bool has_doubled(std::string_view result) {
    if (wire::duplicate_key(result, watched)) return true;
    auto capabilities = wire::object_view(result).find("capabilities");
    if (!capabilities || wire::kind_of(*capabilities) != wire::kind::object) return false;
    if (wire::duplicate_key(*capabilities, kinds)) return true;
    return std::ranges::any_of(kinds, [&](std::string_view kind) {
        auto value = wire::object_view(*capabilities).find(kind);
        bool object = value && wire::kind_of(*value) == wire::kind::object;
        return object && wire::duplicate_key(*value, flags);
    });
}

std::string text_or(std::optional<std::string_view> found, std::string_view otherwise) {
    return std::string(found ? *found : otherwise);
}

} // namespace

const char* const initialized_text = R"({"jsonrpc":"2.0","method":"notifications/initialized"})";

base::result<wire::message> make_initialize(const open_request& request) {
    std::string info = request.client_info;
    if (info.empty()) info = R"({"name":"sluice","version":")" SLUICE_VERSION R"("})";
    auto params = "{\"protocolVersion\":" + wire::quote(request.revision) +
                  ",\"capabilities\":" + request.capabilities + ",\"clientInfo\":" + info + "}";
    return wire::parse_message(wire::make_request("1", "initialize", params));
}

base::result<peer_info> read_initialize(const wire::message& response) {
    if (response.kind == wire::message_kind::error) {
        return base::fault(
            base::errc::upstream_error,
            "it refused initialize with code " + std::string(response.view(response.error_code))
        );
    }
    if (wire::kind_of(response.view(response.result)) != wire::kind::object)
        return not_an_answer("is no object");
    if (has_doubled(response.view(response.result))) return not_an_answer("has a member twice");
    wire::object_view result(response.view(response.result));
    auto version = result.find("protocolVersion");
    if (!version || wire::kind_of(*version) != wire::kind::string)
        return not_an_answer("names no protocol version");
    auto revision = mcp::parse_revision(wire::unescape(*version));
    if (!revision || *revision > mcp::latest_legacy)
        return not_an_answer("names a protocol version that we do not speak");
    peer_info peer;
    peer.revision = std::string(mcp::text_of(*revision));
    peer.capabilities = text_or(result.find("capabilities"), "{}");
    peer.server_info = text_or(result.find("serverInfo"), "{}");
    if (wire::kind_of(peer.capabilities) != wire::kind::object)
        return not_an_answer("has no capabilities object");
    auto instructions = result.find("instructions");
    if (instructions && wire::kind_of(*instructions) == wire::kind::string)
        peer.instructions = wire::unescape(*instructions);
    return peer;
}

std::string make_cancelled(std::string_view id_text, std::string_view reason_json) {
    std::string params = "{\"requestId\":" + std::string(id_text);
    if (!reason_json.empty()) params += ",\"reason\":" + std::string(reason_json);
    return wire::make_notification("notifications/cancelled", params + "}");
}

std::string for_this_hop(const outgoing& request, std::string_view id_text) {
    const auto& message = *request.message;
    std::vector<wire::edit> edits;
    edits.reserve(request.edits.size() + 2);
    edits.push_back({message.id, id_text});
    edits.push_back({message.progress_token, id_text}); // left out when there is none
    for (const auto& edit : request.edits)
        edits.push_back({edit.where, edit.with});
    return wire::rewrite(message, std::move(edits));
}

std::string answer_to(const wire::message& request) {
    auto id = request.view(request.id);
    if (request.method_is("ping")) return wire::make_result(id, "{}");
    auto method = request.method_text();
    if (!mcp::is_question(method)) {
        auto text = "Method not found: " + base::clip(method, 80);
        return wire::make_error(id, mcp::code_method_not_found, text);
    }
    std::string why = "there is no call that this request could belong to";
    if (auto task = related_task(request))
        why = "no call in flight belongs to the task that this request names: '" +
              base::clip(*task, 80) + "'";
    return wire::make_error(id, mcp::code_invalid_params, why);
}

std::string answer_to_flood(const wire::message& request) {
    return wire::make_error(request.view(request.id), mcp::code_internal, flooded);
}

std::string refusal_of(const wire::unaccepted& request, const base::fault& why) {
    return wire::make_error(request.id, mcp::rpc_code_of(why), why.message);
}

bool is_of_session(const wire::message& note) {
    auto method = note.method_text();
    return method.ends_with("/list_changed") || method == "notifications/resources/updated" ||
           method == "notifications/elicitation/complete";
}

bool is_sendable_id(std::string_view id) {
    return std::ranges::none_of(id, [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    });
}

base::fault refused(int status) {
    auto code = base::errc::upstream_error;
    if (status == 401) code = base::errc::unauthorized;
    if (status == 403) code = base::errc::forbidden;
    return {code, "it answered with HTTP status " + std::to_string(status), status};
}

base::fault outcome_unknown(std::string_view what) {
    return {base::errc::closed, std::string(what) + "; whether the request ran is not known"};
}

base::result<void> is_readable(const net::response_head& head) {
    auto encoding = base::lower(base::trim(head.headers.get("Content-Encoding").value_or("")));
    if (encoding.empty() || encoding == "identity") return {};
    constexpr std::array<std::string_view, 6> known = {
        "gzip", "x-gzip", "deflate", "br", "zstd", "compress"
    };
    auto named = std::ranges::find(known, encoding);
    auto how = named == known.end() ? std::string("in an encoding we do not know")
                                    : "with " + std::string(*named);
    return base::fault(
        base::errc::protocol,
        "its answer is compressed (" + how +
            "), though the gateway asks for none of it "
            "(Accept-Encoding: identity): switch compression off at the server or the proxy before "
            "it"
    );
}

base::fault broke_protocol(const base::fault& parsing) {
    return {base::errc::protocol, "it sent what is no valid message: " + parsing.message};
}

} // namespace sluice::upstream
