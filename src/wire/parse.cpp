// parse_message: the one strict pass, then the judgement of the envelope. The tables say which
// member at which level fills which span; one of them twice at its level makes the message invalid.
#include "wire/message.hpp"
#include "wire/scanner.hpp"

#include <limits>

namespace sluice::wire {

namespace {

using base::errc;
using base::fault;

struct found : message {
    span jsonrpc, meta_token, param_token, error_flag;
    span elicitation, form, url, sampling, roots; // watched only: read from `capabilities` later
};

struct slot {
    std::string_view name;
    span found::* place;
    std::span<const slot> inner = {};
};

constexpr slot meta_slots[] = {
    {"progressToken", &found::meta_token},
    {"io.modelcontextprotocol/protocolVersion", &found::meta_protocol_version},
};
constexpr slot ref_slots[] = {
    {"type", &found::ref_type},
    {"name", &found::ref_name},
    {"uri", &found::ref_uri},
};
constexpr slot elicitation_slots[] = {
    {"form", &found::form},
    {"url", &found::url},
};
constexpr slot capability_slots[] = {
    {"elicitation", &found::elicitation, elicitation_slots},
    {"sampling", &found::sampling},
    {"roots", &found::roots},
};
constexpr slot params_slots[] = {
    {"name", &found::name},
    {"arguments", &found::arguments},
    {"_meta", &found::meta, meta_slots},
    {"progressToken", &found::param_token},
    {"progress", &found::progress},
    {"uri", &found::uri},
    {"cursor", &found::cursor},
    {"ref", &found::ref, ref_slots},
    {"requestId", &found::request_id},
    {"reason", &found::reason},
    {"level", &found::level},
    {"protocolVersion", &found::protocol_version},
    {"capabilities", &found::capabilities, capability_slots},
    {"clientInfo", &found::client_info},
};
constexpr slot result_slots[] = {
    {"_meta", &found::result_meta},
    {"isError", &found::error_flag},
    {"nextCursor", &found::next_cursor},
};
constexpr slot error_slots[] = {
    {"code", &found::error_code},
    {"message", &found::error_message},
};
constexpr slot top_slots[] = {
    {"jsonrpc", &found::jsonrpc},
    {"id", &found::id},
    {"method", &found::method},
    {"params", &found::params, params_slots},
    {"result", &found::result, result_slots},
    {"error", &found::error, error_slots},
};

const slot* look_up(std::span<const slot> slots, std::string_view raw_key) {
    auto name = raw_key.substr(1, raw_key.size() - 2);
    std::string plain;
    if (name.find('\\') != name.npos) name = plain = unescape(raw_key);
    for (const slot& s : slots)
        if (s.name == name) return &s;
    return nullptr;
}

fault invalid(std::string text) {
    return {errc::invalid_request, std::move(text)};
}

class parser {
public:
    parser(std::string bytes, json_limits limits) : limits_(limits) {
        out_.bytes = std::move(bytes);
    }

    base::result<message> run(unaccepted& known);

private:
    std::optional<fault> scan();
    bool walk(scanner& scan, std::span<const slot> slots);
    std::optional<fault> judge();
    std::optional<fault> judge_call();
    std::optional<fault> judge_params();
    std::optional<fault> judge_tokens();
    std::optional<fault> judge_response();
    bool is(span s, kind what) const { return kind_of(s.of(out_.bytes)) == what; }
    bool is_token(span s) const { return token::parse(s.of(out_.bytes)).ok(); }

    found out_;
    json_limits limits_;
    std::optional<fault> repeated_;
    bool id_repeated_ = false;
};

bool parser::walk(scanner& scan, std::span<const slot> slots) {
    if (!scan.at('{')) return scan.value(); // the wrong type: judged later, when it is all JSON
    std::uint32_t seen = 0;
    return scan.object([&](std::string_view raw_key) {
        const slot* s = look_up(slots, raw_key);
        if (s == nullptr) return scan.value();
        const std::uint32_t bit = 1U << static_cast<unsigned>(s - slots.data());
        if ((seen & bit) != 0 && !repeated_)
            repeated_ = invalid("member '" + std::string(s->name) + "' occurs twice");
        if ((seen & bit) != 0 && s->place == &found::id) id_repeated_ = true;
        seen |= bit;
        const std::uint32_t begin = scan.offset();
        if (!(s->inner.empty() ? scan.value() : walk(scan, s->inner))) return false;
        out_.*(s->place) = {begin, scan.offset()};
        return true;
    });
}

std::optional<fault> parser::scan() {
    if (out_.bytes.size() > std::numeric_limits<std::uint32_t>::max())
        return fault(errc::too_large, "message over 4 GiB");
    scanner scan(out_.bytes, limits_);
    scan.space();
    const bool is_object = scan.at('{');
    if (!walk(scan, top_slots)) return scan.fault();
    scan.space();
    if (!scan.at_end()) {
        scan.fail("something follows the value");
        return scan.fault();
    }
    if (!is_object) return invalid("a message is a JSON object");
    return std::nullopt;
}

base::result<message> parser::run(unaccepted& known) {
    auto problem = scan();
    if (problem) return *std::move(problem);
    problem = repeated_ ? repeated_ : judge();
    if (!problem) return message(std::move(out_));
    const bool id_sound = out_.id.present() && !id_repeated_ && is_token(out_.id);
    if (id_sound) known.id = out_.view(out_.id);
    const bool answers = out_.result.present() || out_.error.present();
    known.is_call = out_.method.present() && !answers && !repeated_;
    return *std::move(problem);
}

std::optional<fault> parser::judge() {
    if (!out_.jsonrpc.present() || out_.string_at(out_.jsonrpc) != "2.0")
        return invalid("jsonrpc must be \"2.0\"");
    if (out_.method.present()) return judge_call();
    return judge_response();
}

std::optional<fault> parser::judge_call() {
    if (!is(out_.method, kind::string)) return invalid("method must be a string");
    if (out_.result.present() || out_.error.present())
        return invalid("a message with a method has no result and no error");
    out_.kind = out_.id.present() ? message_kind::request : message_kind::notification;
    if (out_.id.present() && !is_token(out_.id))
        return invalid("id must be a string or an integer");
    if (auto problem = judge_params()) return problem;
    return judge_tokens();
}

std::optional<fault> parser::judge_params() {
    if (!out_.params.present()) return std::nullopt;
    if (is(out_.params, kind::array))
        return fault(errc::invalid_params, "params must be an object");
    if (!is(out_.params, kind::object)) return invalid("params must be an object");
    if (out_.meta.present() && !is(out_.meta, kind::object))
        return fault(errc::invalid_params, "_meta must be an object");
    return std::nullopt;
}

std::optional<fault> parser::judge_tokens() {
    const bool progress = out_.is_notification() && out_.method_is("notifications/progress");
    if (out_.is_request()) out_.progress_token = out_.meta_token;
    if (progress) out_.progress_token = out_.param_token;
    if (out_.progress_token.present() && !is_token(out_.progress_token))
        return fault(errc::invalid_params, "progressToken must be a string or an integer");
    const bool cancelled = out_.is_notification() && out_.method_is("notifications/cancelled");
    if (cancelled && out_.request_id.present() && !is_token(out_.request_id))
        return fault(errc::invalid_params, "requestId must be a string or an integer");
    return std::nullopt;
}

std::optional<fault> parser::judge_response() {
    if (out_.result.present() == out_.error.present())
        return invalid("a message has a method, or a result, or an error");
    const bool is_error = out_.error.present();
    out_.kind = is_error ? message_kind::error : message_kind::result;
    if (is_error && out_.id.present() && is(out_.id, kind::null)) out_.id = {};
    if (out_.id.present() ? !is_token(out_.id) : !is_error)
        return invalid("id must be a string or an integer");
    if (!is_error) {
        out_.is_error = out_.error_flag.present() && is(out_.error_flag, kind::true_);
        if (out_.next_cursor.present() && is(out_.next_cursor, kind::null)) out_.next_cursor = {};
        return std::nullopt;
    }
    if (!out_.error_code.present() || !is_integer(out_.view(out_.error_code)))
        return invalid("error.code must be an integer");
    if (!out_.error_message.present() || !is(out_.error_message, kind::string))
        return invalid("error.message must be a string");
    return std::nullopt;
}

} // namespace

base::result<message>
parse_message(std::string bytes, json_limits limits, std::string* readable_id) {
    unaccepted known;
    auto parsed = parse_message(std::move(bytes), limits, known);
    if (!parsed && readable_id != nullptr) *readable_id = std::move(known.id);
    return parsed;
}

base::result<message> parse_message(std::string bytes, json_limits limits, unaccepted& known) {
    return parser(std::move(bytes), limits).run(known);
}

std::optional<std::string> response_id_of(std::string_view beginning) {
    std::optional<std::string> id;
    scanner scan(beginning, {});
    scan.space();
    if (!scan.at('{')) return id;
    scan.object([&](std::string_view raw_key) {
        const std::uint32_t begin = scan.offset();
        if (member{raw_key, {}}.key_is("method")) {
            id.emplace();
            return false;
        }
        if (!scan.value() || scan.at_end()) return false; // a number cut off looks whole
        const std::string_view text = beginning.substr(begin, scan.offset() - begin);
        if (member{raw_key, {}}.key_is("id") && token::parse(text)) id = text;
        return true;
    });
    return id;
}

bool looks_like_batch(std::string_view bytes) {
    const std::size_t first = bytes.find_first_not_of(" \t\r\n");
    return first != std::string_view::npos && bytes[first] == '[';
}

base::result<std::vector<std::string>> split_batch(std::string_view bytes, json_limits limits) {
    if (auto checked = validate(bytes, limits); !checked) return std::move(checked).error();
    if (!looks_like_batch(bytes)) return invalid("a batch is a JSON array");
    std::vector<std::string> elements;
    for (std::string_view element : array_view(bytes))
        elements.emplace_back(element);
    if (elements.empty()) return invalid("a batch must not be empty");
    return elements;
}

} // namespace sluice::wire
