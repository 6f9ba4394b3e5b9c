// The half of session_links that has to do with what upstreams say outside calls: listening,
// subscriptions, and coming back to an upstream that forgot or lost the session.
#include "aio/within.hpp"
#include "gateway/links.hpp"
#include "mcp/log_level.hpp"
#include "upstream/handshake.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace sluice::gateway {

namespace {

constexpr auto first_pause = std::chrono::milliseconds(200);
constexpr auto longest_pause = std::chrono::seconds(30);

bool has_flag(std::string_view capabilities, std::string_view kind, std::string_view flag) {
    auto value = wire::object_view(capabilities).find(kind);
    if (!value) return false;
    auto found = wire::object_view(*value).find(flag);
    return found && *found == "true";
}

// Empty where nobody has set one.
std::string most_verbose(const std::map<const void*, std::string>& levels) {
    std::string found;
    for (const auto& [session, level] : levels) {
        if (found.empty() || mcp::is_below(level, found)) found = level;
    }
    return found;
}

} // namespace

bool is_list_change(const wire::message& note) {
    return note.method_is("notifications/tools/list_changed") ||
           note.method_is("notifications/prompts/list_changed") ||
           note.method_is("notifications/resources/list_changed");
}

aio::task<base::result<wire::message>>
ask_quietly(const served& server, shared_link link, own_request what) {
    if (what.allowed.server() != server.settings().name)
        throw std::logic_error("a request of ours with the grant of another server");
    auto until = what.until;
    auto parsed = wire::parse_message(wire::make_request("0", what.method, what.params));
    upstream::outgoing request;
    request.message = std::make_shared<const wire::message>(std::move(*parsed));
    request.own = true;
    request.until = until;
    auto reply = co_await link->call(std::move(request));
    if (!reply) co_return reply.error();
    for (;;) {
        auto step = co_await (*reply)->next(until);
        if (!step) co_return step.error();
        if (step->what == upstream::step::kind::pause) continue;
        const auto& m = step->message;
        if (m.is_response()) co_return std::move(step->message);
        if (!m.is_request()) continue;
        auto refusal = upstream::answer_to(m);
        [[maybe_unused]] auto told = co_await link->notify(std::move(refusal), until);
    }
}

bool session_links::worth_listening(const slot& s) const {
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

void session_links::listen() {
    listening_ = true;
    listen_where_worth();
    if (host_.is_kept()) chores_.spawn(take_up_all());
}

void session_links::listen_for_level() {
    listen_where_worth();
}

void session_links::listen_where_worth() {
    for (auto& [server, s] : slots_) {
        if (s->link && s->link->usable() && worth_listening(*s)) open_standing(s);
    }
}

std::string session_links::level_for(const shared_served& server) {
    if (!is_shared(server->settings())) return host_.log_level();
    remember_permission(*slot_of(server));
    auto& all = server->peers.levels;
    all[this] = host_.log_level();
    return most_verbose(all);
}

void session_links::set_up_again(const shared_served& server) {
    if (closing_) return;
    auto s = slot_of(server);
    if (is_kept(*server)) {
        chores_.spawn(publish_again(s)); // and then the same, if this one is to stand
        return;
    }
    bool nothing = s->subscriptions.empty() && host_.log_level().empty();
    if (!nothing) chores_.spawn(subscribe_again(s, true));
}

void session_links::may_have_changed(const shared_served& server) {
    if (closing_) return;
    auto s = slot_of(server);
    chores_.spawn(tell_all_updated(s));
}

aio::task<> session_links::tell_all_updated(shared_slot s) {
    co_await aio::keep_running_when_cancelled();
    auto uris = co_await subscribed_anywhere(s);
    for (const auto& uri : uris) {
        if (!closing_) host_.tell(updated(uri));
    }
}

void session_links::come_back(const shared_served& server) {
    auto s = slot_of(server);
    if (closing_ || s->coming_back || s->subscriptions.empty()) return;
    s->coming_back = true;
    chores_.spawn(open_again(s));
}

// Opening it subscribes again.
aio::task<> session_links::open_again(shared_slot s) {
    co_await aio::keep_running_when_cancelled();
    aio::duration wait = first_pause;
    while (!closing_ && !s->left && !s->subscriptions.empty()) {
        co_await aio::pause(wait);
        if (closing_ || s->left) break;
        auto until = aio::clock::now() + s->of->settings().initialize_timeout;
        auto opened = co_await ensure(s->of, s->headers, until);
        if (opened) break;
        wait = std::min<aio::duration>(wait * 2, longest_pause);
    }
    s->coming_back = false;
}

// What only this session wanted to hear is not said any more.
aio::task<> session_links::leave_level(shared_slot s) {
    auto& all = s->of->peers.levels;
    auto before = most_verbose(all);
    bool had_one = all.erase(this) != 0;
    auto now = most_verbose(all);
    if (!had_one || now.empty() || now == before || !s->link || !s->link->usable()) co_return;
    if (!s->allowed) co_return;
    own_request what{*s->allowed, "logging/setLevel", "{\"level\":" + wire::quote(now) + "}"};
    what.until = aio::clock::now() + farewell;
    [[maybe_unused]] auto answer = co_await ask_quietly(*s->of, s->link, std::move(what));
}

// The shared upstream goes on: what only this session was subscribed to there ends with it.
aio::task<> session_links::leave_shared(shared_slot s) {
    co_await aio::keep_running_when_cancelled();
    std::vector<std::string> uris;
    uris.reserve(s->subscriptions.size());
    for (const auto& [uri, sure] : s->subscriptions)
        uris.push_back(uri);
    co_await leave_level(s);
    auto until = aio::clock::now() + farewell;
    for (const auto& uri : uris)
        co_await leave_subscription(s, uri, until);
}

} // namespace sluice::gateway
