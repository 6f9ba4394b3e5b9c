// Who listens to what upstreams say outside calls, the level that is set there, and coming back to
// an upstream that lost the session.
#include "gateway/watching.hpp"

#include "aio/within.hpp"
#include "gateway/claims.hpp"
#include "gateway/links.hpp"
#include "gateway/own_request.hpp"
#include "gateway/replicas.hpp"
#include "mcp/log_level.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace sluice::gateway {

namespace {

constexpr auto first_pause = std::chrono::milliseconds(200);
constexpr auto first_look_again = std::chrono::milliseconds(500);
constexpr auto longest_pause = std::chrono::seconds(30);
// How often a replica that would listen asks whether the one that does still wants to.
constexpr auto claim_again = std::chrono::seconds(30);

// Empty where nobody has set one.
std::string most_verbose(const std::map<const void*, std::string>& levels) {
    std::string found;
    for (const auto& [session, level] : levels) {
        if (found.empty() || mcp::is_below(level, found)) found = level;
    }
    return found;
}

bool is_usable(const slot& s) {
    return s.link && s.link->usable();
}

} // namespace

bool watching::worth_listening(const slot& s) const {
    // What was declared may be asked for, also on a stream of its own.
    if (s.left) return false;
    if (s.declares || !s.subscriptions.empty()) return true;
    const auto& can = s.link->peer().capabilities;
    bool logs = wire::object_view(can).find("logging").has_value();
    if (logs && !host_.log_level().empty()) return true;
    constexpr std::array<std::string_view, 3> kinds = {"tools", "prompts", "resources"};
    bool host_listens = listening_ || host_.who().one_stream;
    // Another replica may have subscribed, and may be gone.
    bool updates = host_.is_kept() && has_flag(can, "resources", "subscribe");
    if (host_listens && updates) return true;
    return host_listens && std::any_of(kinds.begin(), kinds.end(), [&](std::string_view kind) {
               return has_flag(can, kind, "listChanged");
           });
}

void watching::listen() {
    listening_ = true;
    listen_where_worth();
    if (host_.is_kept()) chores_.spawn(take_up_all());
}

void watching::listen_where_worth() {
    for (auto& [server, s] : slots_.all) {
        if (is_usable(*s) && worth_listening(*s)) open_standing(s);
    }
}

// What is subscribed in the record was so with the session that this one replaces, or at another
// home of the host's session.
void watching::opened(const shared_slot& s) {
    bool again = s->replaces;
    if (!slots_.is_kept(*s->of)) {
        bool moved_here = host_.is_kept() && s->of->server->is_bound_here();
        again = moved_here || !s->subscriptions.empty();
    }
    bool listens = worth_listening(*s);
    s->replaces = s->replaces && listens;
    if (listens) open_standing(s);
    if (again) chores_.spawn(subscribe_again(s));
}

void watching::stands_anew(const shared_slot& s) {
    s->claims_standing = false;
    s->replaces = is_usable(*s) && worth_listening(*s);
    if (s->replaces) open_standing(s);
}

void watching::open_standing(const shared_slot& s) {
    if (!is_usable(*s)) return;
    if (!slots_.is_kept(*s->of) || s->claims_standing) {
        s->link->open_standing();
        return;
    }
    chores_.spawn(claim_in_turn(s));
}

// The host listens here: what other replicas have opened for it, or subscribed to, is heard from
// here too, should nobody hear it.
aio::task<> watching::take_up_all() {
    co_await aio::keep_running_when_cancelled();
    auto record = co_await host_.read_record();
    if (!record) co_return;
    auto servers = in_.newest;
    for (const auto& server : servers) {
        const auto* handle = value_in(*record, slots_.field("up", *server));
        bool open = handle != nullptr && !handle->empty();
        bool subscribed = !subscriptions_in(*record, *server).empty();
        bool wanted = (open || subscribed) && !slots_.closing && in_.permit(host_.who(), *server);
        if (!wanted) continue;
        if (is_shared(server->settings())) {
            auto s = slots_.at(server);
            s->watches = true;
            chores_.spawn(claim_in_turn(std::move(s)));
        } else {
            // Its own calls will tell what is wrong with it.
            [[maybe_unused]] bool taken_up = co_await links_.take_up(server);
        }
    }
}

bool watching::would_claim(const slot& s) const {
    if (slots_.closing) return false;
    if (!is_shared(s.of->settings())) return is_usable(s);
    return !s.left && !s.closed && (s.replaces || (s.watches && !s.claims_standing));
}

// One replica listens to an upstream for a session; when it is gone, the next that would takes
// over.
aio::task<> watching::claim_in_turn(shared_slot s) {
    co_await aio::keep_running_when_cancelled();
    if (std::exchange(s->claiming, true)) co_return;
    claimed held;
    bool from_anyone = false;
    bool after_another = false;
    while (!held.mine && would_claim(*s)) {
        from_anyone = std::exchange(s->replaces, false);
        auto found = co_await claim(in_, host_, slots_.field("get", *s->of), from_anyone);
        if (!found && found.error().code == base::errc::not_found) break; // the session has ended
        if (!found) s->replaces = from_anyone;                            // the store did not say
        held = found ? std::move(*found) : claimed{};
        after_another = after_another || held.from_dead || !held.holder.empty();
        if (!held.mine) co_await outwait(s, held.holder);
    }
    s->claiming = false;
    if (!held.mine) co_return;
    s->claims_standing = true;
    s->replaces = false;
    if (slots_.closing) co_return;
    if (is_shared(s->of->settings())) {
        s->missed = s->missed || !from_anyone;
        tell_of_watch(*s);
        co_await look_at_watch(std::move(s));
    } else if (is_usable(*s) && after_another) {
        s->link->take_over_standing();
    } else if (is_usable(*s)) {
        s->link->open_standing();
    }
}

// Until that replica is dead, or may have given it up. What is looked at is shared by all sessions.
aio::task<> watching::outwait(shared_slot s, std::string holder) {
    auto until = aio::clock::now() + claim_again;
    auto pace = std::max<aio::duration>(in_.replicas.lease() / 3, std::chrono::milliseconds(200));
    do {
        co_await aio::pause(pace);
        if (slots_.closing || holder.empty()) break;
        auto alive = co_await in_.replicas.find(holder);
        if (!alive && alive.error().code == base::errc::not_found) break;
    } while (!slots_.closing && !s->replaces && aio::clock::now() < until);
}

void watching::tell_of_watch(const slot& s) {
    in_.sessions.kept()->tell("watch " + host_.who().key + " " + s.of->settings().name);
}

void watching::others_say(std::string_view server) {
    if (slots_.closing) return;
    for (const auto& one : in_.newest) {
        bool meant = server.empty() || one->settings().name == server;
        if (!meant || !is_shared(one->settings())) continue;
        const auto* known = slots_.find(*one);
        bool concerns = listening_ && !server.empty();
        if (known != nullptr)
            concerns =
                concerns || known->watches || known->claims_standing || !known->noted.empty();
        if (concerns) chores_.spawn(look_at_watch(slots_.at(one)));
    }
}

// One look at a time, as each changes what the process is subscribed to; until what it asked was
// answered.
aio::task<> watching::look_at_watch(shared_slot s) {
    co_await aio::keep_running_when_cancelled();
    s->look_again = true;
    if (std::exchange(s->looking, true)) co_return;
    aio::duration wait = first_look_again;
    while (std::exchange(s->look_again, false) && !slots_.closing && !s->closed) {
        bool done = co_await follow_record(s);
        if (done || slots_.closing) continue;
        co_await aio::pause(wait);
        wait = std::min<aio::duration>(wait * 2, longest_pause);
        s->look_again = true;
    }
    s->looking = false;
}

void watching::come_back(const shared_served& server) {
    auto s = slots_.at(server);
    if (slots_.closing || s->subscriptions.empty()) return;
    if (!std::exchange(s->coming_back, true)) chores_.spawn(open_again(s));
}

// Opening it subscribes again.
aio::task<> watching::open_again(shared_slot s) {
    co_await aio::keep_running_when_cancelled();
    aio::duration wait = first_pause;
    bool open = false;
    auto wanted = [&] { return !slots_.closing && !s->left && !s->subscriptions.empty(); };
    while (!open && wanted()) {
        co_await aio::pause(wait);
        if (slots_.closing || s->left) break;
        open = co_await links_.take_up(s->of);
        wait = std::min<aio::duration>(wait * 2, longest_pause);
    }
    s->coming_back = false;
}

std::string watching::level_for(const shared_served& server) {
    if (!is_shared(server->settings())) return host_.log_level();
    remember_permission(*slots_.at(server));
    auto& all = server->peers.levels;
    all[this] = host_.log_level();
    return most_verbose(all);
}

void watching::remember_permission(slot& s) const {
    auto allowed = in_.permit(host_.who(), *s.of);
    if (allowed) s.allowed = std::make_shared<const policy::grant>(std::move(*allowed));
}

aio::task<> watching::set_level(shared_served server, shared_link link, aio::instant until) {
    if (host_.log_level().empty()) co_return;
    if (!wire::object_view(link->peer().capabilities).find("logging")) co_return;
    auto allowed = in_.permit(host_.who(), *server);
    if (!allowed) co_return;
    auto params = "{\"level\":" + wire::quote(level_for(server)) + "}";
    own_request what{std::move(*allowed), "logging/setLevel", std::move(params), until};
    // Its own calls will tell what is wrong with it.
    [[maybe_unused]] auto answer = co_await ask_quietly(*server, std::move(link), std::move(what));
}

// What only this session wanted to hear is not said any more.
aio::task<> watching::leave_level(shared_slot s) {
    auto& all = s->of->peers.levels;
    auto before = most_verbose(all);
    bool had_one = all.erase(this) != 0;
    auto now = most_verbose(all);
    if (!had_one || now.empty() || now == before || !is_usable(*s) || !s->allowed) co_return;
    own_request what{*s->allowed, "logging/setLevel", "{\"level\":" + wire::quote(now) + "}"};
    what.until = aio::clock::now() + farewell;
    [[maybe_unused]] auto answer = co_await ask_quietly(*s->of, s->link, std::move(what));
}

// Of a process that goes on: what only this session was subscribed to there ends with it.
aio::task<> watching::leave(shared_slot s, bool for_all) {
    co_await aio::keep_running_when_cancelled();
    if (!for_all && s->claims_standing) unclaim(in_, host_, slots_.field("get", *s->of));
    if (!is_shared(s->of->settings())) co_return;
    auto subscriptions = s->subscriptions;
    co_await leave_level(s);
    auto until = aio::clock::now() + farewell;
    for (const auto& [uri, sure] : subscriptions)
        co_await leave_subscription(s, uri, until);
}

} // namespace sluice::gateway
