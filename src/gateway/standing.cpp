// The half of session_links that has to do with what upstreams say outside calls: listening,
// subscriptions, and coming back to an upstream that forgot or lost the session.
#include "aio/within.hpp"
#include "gateway/calls_elsewhere.hpp"
#include "gateway/links.hpp"
#include "mcp/errors.hpp"
#include "mcp/log_level.hpp"
#include "upstream/handshake.hpp"
#include "upstream/related_task.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace sluice::gateway {

namespace {

constexpr std::size_t most_handed_on = 16; // at once; what is more is refused
constexpr auto farewell = std::chrono::seconds(2);
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

std::string uri_params(const std::string& uri) {
    return "{\"uri\":" + wire::quote(uri) + "}";
}

std::string updated(const std::string& uri) {
    return wire::make_notification("notifications/resources/updated", uri_params(uri));
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
        auto refusal = wire::make_error(
            m.view(m.id),
            mcp::code_invalid_params,
            "there is no call that this request could belong to"
        );
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

void session_links::subscribing(const shared_served& server, const std::string& uri) {
    auto s = slot_of(server);
    s->subscriptions.try_emplace(uri, false);
    if (is_shared(server->settings())) remember_permission(*s);
    open_standing(s);
}

void session_links::remember_permission(slot& s) const {
    auto allowed = in_.permit(host_.who(), *s.of);
    if (allowed) s.allowed = std::make_shared<const policy::grant>(std::move(*allowed));
}

void session_links::subscribed(const shared_served& server, const std::string& uri, bool done) {
    auto s = slot_of(server);
    auto it = s->subscriptions.find(uri);
    // Each time: another replica may have taken it out of the record since.
    if (done && notes_subscriptions(*server)) chores_.spawn(keep_subscription(s, uri));
    if (it == s->subscriptions.end() || it->second) return; // an earlier one stands
    if (!done) {
        s->subscriptions.erase(it);
        return;
    }
    it->second = true;
    ++server->peers.subscribers[uri];
}

shared_served session_links::subscribed_at(const std::string& uri) const {
    for (const auto& [server, s] : slots_) {
        auto it = s->subscriptions.find(uri);
        if (it != s->subscriptions.end() && it->second) return s->of;
    }
    return nullptr;
}

bool session_links::unsubscribed(const shared_served& server, const std::string& uri) {
    const auto* known = find_slot(*server);
    if (known == nullptr || !known->subscriptions.contains(uri)) return true;
    return drop_subscription(*slot_of(server), uri);
}

// False when other sessions keep the shared upstream's own subscription alive.
bool session_links::drop_subscription(slot& s, const std::string& uri) {
    auto it = s.subscriptions.find(uri);
    if (it == s.subscriptions.end() || !it->second) return true;
    s.subscriptions.erase(it);
    auto& all = s.of->peers.subscribers;
    auto count = all.find(uri);
    bool last = count == all.end() || --count->second == 0;
    if (last && count != all.end()) all.erase(count);
    return last || !is_shared(s.of->settings());
}

// An update may name a part of what was subscribed. What comes to the host's own upstream session
// was meant for it, whatever it names.
bool session_links::asked_for_updates(const served& server, const std::string& uri, bool shared)
    const {
    const auto* found = find_slot(server);
    if (found == nullptr) return false;
    const auto& mine = found->subscriptions;
    // Another replica may have subscribed, in this very upstream session.
    if (!shared) return host_.is_kept() || !mine.empty();
    return std::any_of(mine.begin(), mine.end(), [&](const auto& one) {
        return uri.starts_with(one.first);
    });
}

bool session_links::look_elsewhere(const shared_served& server, const wire::message& said) {
    if (closing_ || !is_kept(*server) || handing_on_ >= most_handed_on) return false;
    ++handing_on_;
    chores_.spawn(hand_on(slot_of(server), std::make_shared<const wire::message>(said)));
    return true;
}

aio::task<> session_links::hand_on(shared_slot s, std::shared_ptr<const wire::message> said) {
    co_await aio::keep_running_when_cancelled();
    auto link = s->link;
    bool names_its_call = !said->is_request() || upstream::related_task(*said);
    auto host = host_.shared_from_this();
    auto server = s->of->settings().name;
    bool taken =
        co_await hand_to_call_elsewhere(in_, std::move(host), server, said, names_its_call);
    --handing_on_;
    if (taken || !said->is_request() || !link) co_return;
    auto until = aio::clock::now() + farewell;
    [[maybe_unused]] auto sent = co_await link->notify(upstream::answer_to(*said), until);
}

bool session_links::take_for_call(std::string_view server, const wire::message& said) {
    return std::any_of(slots_.begin(), slots_.end(), [&](const auto& one) {
        const auto& s = *one.second;
        return s.of->settings().name == server && s.link && s.link->take_for_call(said);
    });
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

std::vector<std::string> session_links::subscribed_here(const slot& s) {
    std::vector<std::string> uris;
    for (const auto& [uri, sure] : s.subscriptions) {
        if (sure) uris.push_back(uri);
    }
    return uris;
}

aio::task<> session_links::subscribe_again(shared_slot s, bool level_too) {
    co_await aio::keep_running_when_cancelled();
    auto link = s->link;
    if (!link) co_return;
    auto limit = s->of->settings().timeout;
    if (level_too && !host_.log_level().empty())
        co_await set_level(s->of, link, aio::clock::now() + limit);
    auto uris = co_await subscribed_anywhere(s);
    for (const auto& uri : uris) {
        auto allowed = in_.permit(host_.who(), *s->of);
        if (!allowed) co_return;
        own_request what{std::move(*allowed), "resources/subscribe", uri_params(uri)};
        what.until = aio::clock::now() + limit;
        // Refused or not: the host reads it again and sees.
        [[maybe_unused]] auto answer = co_await ask_quietly(*s->of, link, std::move(what));
        if (closing_ || s->left) co_return;
        if (notes_subscriptions(*s->of) || s->subscriptions.contains(uri)) host_.tell(updated(uri));
    }
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
    std::vector<std::string> uris;
    uris.reserve(s->subscriptions.size());
    for (const auto& [uri, sure] : s->subscriptions)
        uris.push_back(uri);
    co_await leave_level(s);
    auto until = aio::clock::now() + farewell;
    for (const auto& uri : uris) {
        bool last = drop_subscription(*s, uri);
        if (!last || !s->link || !s->link->usable() || !s->allowed) continue;
        own_request what{*s->allowed, "resources/unsubscribe", uri_params(uri), until};
        [[maybe_unused]] auto answer = co_await ask_quietly(*s->of, s->link, std::move(what));
    }
}

} // namespace sluice::gateway
