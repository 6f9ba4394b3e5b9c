#include "upstream/handoff.hpp"

#include "wire/json.hpp"

namespace sluice::upstream {

namespace {

base::fault unreadable() {
    return {base::errc::protocol, "what another replica wrote down cannot be read"};
}

std::string text_in(const wire::object_view& record, std::string_view name) {
    auto found = record.find(name);
    if (!found || wire::kind_of(*found) != wire::kind::string) return {};
    return wire::unescape(*found);
}

std::string object_in(const wire::object_view& record, std::string_view name) {
    auto found = record.find(name);
    return std::string(found ? *found : std::string_view("{}"));
}

} // namespace

std::string make_handle(const session_handle& handle) {
    return "{\"session\":" + wire::quote(handle.session) +
           ",\"target\":" + wire::quote(handle.target) +
           ",\"revision\":" + wire::quote(handle.peer.revision) +
           ",\"capabilities\":" + handle.peer.capabilities +
           ",\"serverInfo\":" + handle.peer.server_info +
           ",\"instructions\":" + wire::quote(handle.peer.instructions) + "}";
}

base::result<session_handle> read_handle(std::string_view text) {
    if (!wire::validate(text)) return unreadable();
    wire::object_view record(text);
    session_handle out;
    out.session = text_in(record, "session");
    out.target = text_in(record, "target");
    out.peer.revision = text_in(record, "revision");
    out.peer.capabilities = object_in(record, "capabilities");
    out.peer.server_info = object_in(record, "serverInfo");
    out.peer.instructions = text_in(record, "instructions");
    if (out.target.empty() || out.peer.revision.empty()) return unreadable();
    return out;
}

std::string make_mark(const answer_mark& mark) {
    return "{\"id\":" + mark.id + ",\"event\":" + wire::quote(mark.event) + "}";
}

base::result<answer_mark> read_mark(std::string_view text) {
    if (!wire::validate(text)) return unreadable();
    wire::object_view record(text);
    answer_mark out;
    out.id = std::string(record.find("id").value_or(std::string_view()));
    out.event = text_in(record, "event");
    if (out.id.empty()) return unreadable();
    return out;
}

} // namespace sluice::upstream
