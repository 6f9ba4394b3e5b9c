// A message that parses: the spans say what lazy look-ups say, a rewrite of the id (and token and
// name) changes those bytes alone, and the outcome parses to the same message. One that does not
// parse is refused for the reason the JSON oracle agrees with.
#include "wire/message.hpp"

#include "check.hpp"
#include "oracle.hpp"

#include <string>
#include <utility>

using namespace sluice;
using namespace sluice::wire;

namespace {

using span_of = span message::*;

constexpr span_of all_spans[] = {
    &message::id,
    &message::method,
    &message::params,
    &message::result,
    &message::error,
    &message::name,
    &message::uri,
    &message::cursor,
    &message::ref,
    &message::arguments,
    &message::meta,
    &message::request_id,
    &message::level,
    &message::protocol_version,
    &message::capabilities,
    &message::client_info,
    &message::reason,
    &message::progress,
    &message::ref_type,
    &message::ref_name,
    &message::ref_uri,
    &message::progress_token,
    &message::meta_protocol_version,
    &message::next_cursor,
    &message::result_meta,
    &message::error_code,
    &message::error_message,
};

std::string flat(std::string_view text) {
    std::string out(text);
    flatten(out);
    return out;
}

void same(std::string_view object_text, std::string_view key, const message& m, span s) {
    const auto looked_up = object_view(object_text).find(key);
    CHECK(looked_up.has_value() == s.present());
    if (looked_up) CHECK(*looked_up == m.view(s));
}

void check_spans(const message& m) {
    same(m.bytes, "method", m, m.method);
    same(m.bytes, "params", m, m.params);
    same(m.bytes, "result", m, m.result);
    same(m.bytes, "error", m, m.error);
    if (m.kind != message_kind::error) same(m.bytes, "id", m, m.id);
    if (m.params.present()) {
        same(m.view(m.params), "name", m, m.name);
        same(m.view(m.params), "uri", m, m.uri);
        same(m.view(m.params), "cursor", m, m.cursor);
        same(m.view(m.params), "requestId", m, m.request_id);
        same(m.view(m.params), "_meta", m, m.meta);
    }
    if (m.is_request() && m.meta.present())
        same(m.view(m.meta), "progressToken", m, m.progress_token);
    CHECK(m.is_request() || m.kind == message_kind::result ? m.id_token().has_value() : true);
}

void check_rewrite(const message& m) {
    if (!m.id.present()) return;
    const std::string out = rewrite(m, {{m.id, "\"fuzz\\u0041\""}});
    const std::string tail = flat(std::string_view(m.bytes).substr(m.id.end));
    CHECK(out == flat(m.bytes.substr(0, m.id.begin)) + "\"fuzz\\u0041\"" + tail);
    CHECK(out.find_first_of("\r\n") == std::string::npos);

    auto again = parse_message(out);
    CHECK(again.ok());
    CHECK(again->kind == m.kind);
    CHECK(again->is_error == m.is_error);
    CHECK(again->id_token() == token::of(std::string_view("fuzzA")));
    for (span_of s : all_spans) {
        if (s == &message::id) continue;
        CHECK((m.*s).present() == ((*again).*s).present());
        CHECK(flat(m.view(m.*s)) == again->view((*again).*s));
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    std::string id;
    const auto parsed = parse_message(text, {}, &id);
    const bool is_json = oracle::accepts(text, 128);
    if (!parsed) {
        CHECK((parsed.error().code == base::errc::parse_error) == !is_json);
        CHECK(id.empty() || token::parse(id).ok());
        if (is_json && looks_like_batch(text)) {
            const auto parts = split_batch(text);
            if (parts)
                for (const auto& part : *parts)
                    CHECK(oracle::accepts(part, 127));
        }
        return 0;
    }
    CHECK(is_json);
    CHECK(parsed->bytes == text);
    check_spans(*parsed);
    check_rewrite(*parsed);
    return 0;
}
