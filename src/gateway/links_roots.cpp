// The part of session_links that passes on what a host says of its roots. Spec: Roots,
// "Root List Changes".
#include "gateway/links.hpp"
#include "wire/json.hpp"

namespace sluice::gateway {

namespace {

constexpr auto told_within = std::chrono::seconds(10);

bool tells_of_changes(std::string_view capabilities) {
    auto roots = wire::object_view(capabilities).find("roots");
    if (!roots || wire::kind_of(*roots) != wire::kind::object) return false;
    auto flag = wire::object_view(*roots).find("listChanged");
    return flag && *flag == "true";
}

} // namespace

// What was declared when its session was opened decides; it is the same for all of them.
bool session_links::hears_of_roots(const served& server) const {
    if (is_shared(server.settings())) return false;
    auto opening = opening_for(server.settings(), host_.who(), nullptr);
    return tells_of_changes(opening.capabilities);
}

void session_links::roots_changed(
    const std::string& note, const std::shared_ptr<const net::fields>& headers
) {
    if (closing_) return;
    for (const auto& server : in_.newest) {
        if (!hears_of_roots(*server) || !in_.permit(host_.who(), *server)) continue;
        chores_.spawn(tell_of_roots(server, note, headers));
    }
}

aio::task<> session_links::tell_of_roots(
    shared_served server, std::string note, std::shared_ptr<const net::fields> headers
) {
    co_await aio::keep_running_when_cancelled();
    auto until = aio::clock::now() + told_within;
    auto link = open_link(*server);
    if (!link && is_kept(*server)) {
        bool opened = co_await is_open_elsewhere(server);
        if (!opened || closing_) co_return;
        auto taken_up = co_await ensure(server, std::move(headers), until);
        if (taken_up) link = *taken_up;
    }
    if (!link) co_return;
    auto told = co_await link->notify(std::move(note), until);
    if (!told) server->server->report("notifications/roots/list_changed", told.error());
}

// A session there that other replicas have opened and this one can take up.
aio::task<bool> session_links::is_open_elsewhere(shared_served server) {
    auto key = session::records::record_key(host_.who().key);
    auto field = field_of("up", *server);
    auto handle = co_await in_.sessions.kept()->store().read_field(std::move(key), field);
    if (!handle || !*handle || (*handle)->empty()) co_return false;
    const auto* s = find_slot(*server);
    co_return s == nullptr || s->handle != **handle;
}

} // namespace sluice::gateway
