#include "gateway/hearing.hpp"

#include "gateway/links.hpp"
#include "mcp/log_level.hpp"

namespace sluice::gateway {

bool asked_for_level(const session::session& host, const wire::message& note, bool shared) {
    const auto& wanted = host.log_level();
    if (wanted.empty()) return !shared;
    auto level = note.string_at(note.level);
    return !level || !mcp::is_below(*level, wanted);
}

bool hearing::may_see(const wire::message& note) const {
    bool shared = is_shared(server_->settings());
    if (note.method_is("notifications/message")) return asked_for_level(host_, note, shared);
    if (note.method_is("notifications/resources/updated")) {
        auto uri = note.string_at(note.uri);
        return uri && of_.watches().asked_for_updates(*server_, *uri, shared);
    }
    // Ends of questions and progress belong to calls that are over; anything else has one addressee
    // only where the upstream session is the host's own.
    bool of_a_call =
        note.method_is("notifications/cancelled") || note.method_is("notifications/progress");
    return !of_a_call && !shared;
}

void hearing::heard(const wire::message& note) {
    if (is_list_change(note)) {
        lists_.forget(server_->number);
        of_.of_lists().tell(note.method_text(), wire::rewrite(note, {}));
        return;
    }
    if (may_see(note)) host_.tell(wire::rewrite(note, {}));
}

bool hearing::unclaimed(const wire::message& said) {
    return of_.look_elsewhere(server_, said);
}

void hearing::reopened() {
    of_.reopened(server_);
}

void hearing::missed() {
    of_.watches().missed(server_);
}

void hearing::lost() {
    of_.watches().come_back(server_);
}

} // namespace sluice::gateway
