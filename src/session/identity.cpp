#include "session/identity.hpp"

#include "base/text.hpp"
#include "sys/clock.hpp"
#include "wire/json.hpp"

namespace sluice::session {

namespace {

std::string text_in(const wire::object_view& record, std::string_view name) {
    auto found = record.find(name);
    if (!found || wire::kind_of(*found) != wire::kind::string) return {};
    return wire::unescape(*found);
}

std::string json_in(const wire::object_view& record, std::string_view name) {
    return std::string(record.find(name).value_or("{}"));
}

} // namespace

bool is_older(const identity& who, std::chrono::milliseconds age) {
    return who.opened_ms > 0 && sys::wall_ms() - who.opened_ms >= age.count();
}

std::string write_identity(const identity& who) {
    std::string out = "{\"id\":" + wire::quote(who.id);
    out += ",\"principal\":" + wire::quote(who.principal);
    out += ",\"scope\":" + wire::quote(who.scope);
    out += ",\"revision\":" + wire::quote(mcp::text_of(who.revision));
    out += ",\"capabilities\":" + (who.capabilities.empty() ? "{}" : who.capabilities);
    out += ",\"clientInfo\":" + (who.client_info.empty() ? "{}" : who.client_info);
    out += ",\"opened\":" + std::to_string(who.opened_ms);
    out += who.one_stream ? ",\"oneStream\":true}" : "}";
    return out;
}

base::result<identity> read_identity(std::string_view text) {
    base::fault unreadable(base::errc::protocol, "a session's record cannot be read");
    if (!wire::validate(text)) return unreadable;
    wire::object_view record(text);
    auto revision = mcp::parse_revision(text_in(record, "revision"));
    auto opened = base::parse_unsigned(record.find("opened").value_or("0"));
    if (!revision || !opened) return unreadable;
    identity who;
    who.id = text_in(record, "id");
    who.principal = text_in(record, "principal");
    who.scope = text_in(record, "scope");
    who.revision = *revision;
    who.capabilities = json_in(record, "capabilities");
    who.client_info = json_in(record, "clientInfo");
    who.opened_ms = static_cast<std::int64_t>(*opened);
    who.one_stream = record.find("oneStream").has_value();
    return who;
}

} // namespace sluice::session
