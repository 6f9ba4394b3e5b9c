#include "gateway/slots.hpp"

#include "base/text.hpp"
#include "sys/digest.hpp"
#include "wire/json.hpp"

#include <algorithm>

namespace sluice::gateway {

shared_slot slots::at(const shared_served& server) {
    auto& entry = all[server.get()];
    if (!entry) {
        entry = std::make_shared<slot>();
        entry->of = server;
    }
    return entry;
}

const slot* slots::find(const served& server) const {
    auto found = all.find(&server);
    return found == all.end() ? nullptr : found->second.get();
}

bool slots::is_kept(const served& server) const {
    return in.sessions.shared() && !host.who().key.empty() &&
           server.settings().kind == upstream::transport::http && !server.server->is_bound_here();
}

// Replicas whose configurations differ in where a server is share no session with it.
std::string slots::field(std::string_view kind, const served& server) const {
    std::string field(kind);
    field.append(":").append(server.settings().name);
    std::string_view url = server.settings().url; // its query may hold a credential
    auto reached = base::hex(sys::sha256(url.substr(0, url.find('?'))));
    return field.append(":").append(reached, 0, 8);
}

const std::string* value_in(const state::fields& record, std::string_view field) {
    auto found = std::find_if(record.begin(), record.end(), [&](const auto& one) {
        return one.first == field;
    });
    return found == record.end() ? nullptr : &found->second;
}

bool has_flag(std::string_view capabilities, std::string_view kind, std::string_view flag) {
    auto value = wire::object_view(capabilities).find(kind);
    if (!value || wire::kind_of(*value) != wire::kind::object) return false;
    auto found = wire::object_view(*value).find(flag);
    return found && *found == "true";
}

} // namespace sluice::gateway
