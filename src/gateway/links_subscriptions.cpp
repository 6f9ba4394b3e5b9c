// The part of session_links that has to do with subscriptions to resources: which this replica has
// made, what the session's record says of them, and making them again.
#include "aio/within.hpp"
#include "base/text.hpp"
#include "gateway/links.hpp"
#include "sys/digest.hpp"

#include <algorithm>

namespace sluice::gateway {

namespace {

// What the record takes of a session's subscriptions; any more are known to one replica alone.
constexpr std::size_t most_subscriptions = 1'000;
constexpr std::size_t longest_uri = 8 * 1024;

} // namespace

std::string uri_params(const std::string& uri) {
    return "{\"uri\":" + wire::quote(uri) + "}";
}

std::string updated(const std::string& uri) {
    return wire::make_notification("notifications/resources/updated", uri_params(uri));
}

void session_links::subscribing(const shared_served& server, const std::string& uri) {
    auto s = slot_of(server);
    s->subscriptions.try_emplace(uri, false);
    s->noted.erase(uri); // until it is in the record again
    if (is_shared(server->settings())) remember_permission(*s);
    open_standing(s);
}

void session_links::remember_permission(slot& s) const {
    auto allowed = in_.permit(host_.who(), *s.of);
    if (allowed) s.allowed = std::make_shared<const policy::grant>(std::move(*allowed));
}

void session_links::subscribed(const shared_served& server, const std::string& uri, bool done) {
    auto s = slot_of(server);
    // Each time: another replica may have taken it out of the record since.
    if (done && host_.is_kept()) chores_.spawn(keep_subscription(s, uri));
    note_subscribed(*s, uri, done);
}

void session_links::note_subscribed(slot& s, const std::string& uri, bool done) {
    auto it = s.subscriptions.find(uri);
    if (it == s.subscriptions.end() || it->second) return; // an earlier one stands
    if (!done) {
        s.subscriptions.erase(it);
        return;
    }
    it->second = true;
    ++s.of->peers.subscribers[uri];
}

shared_served session_links::subscribed_at(const std::string& uri) const {
    for (const auto& [server, s] : slots_) {
        auto it = s->subscriptions.find(uri);
        if (it != s->subscriptions.end() && it->second) return s->of;
    }
    return nullptr;
}

bool session_links::unsubscribed(const shared_served& server, const std::string& uri) {
    return drop_subscription(*slot_of(server), uri);
}

// False when other sessions keep the shared upstream's own subscription alive.
bool session_links::drop_subscription(slot& s, const std::string& uri) {
    auto& all = s.of->peers.subscribers;
    auto it = s.subscriptions.find(uri);
    bool counted = it != s.subscriptions.end() && it->second;
    if (it != s.subscriptions.end()) s.subscriptions.erase(it);
    auto count = all.find(uri);
    if (counted && count != all.end() && --count->second == 0) all.erase(count);
    return !is_shared(s.of->settings()) || !all.contains(uri);
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

std::string session_links::subscription_field(const served& server, std::string_view uri) const {
    auto field = field_of("sub", server).append(":");
    return field.append(base::hex(sys::sha256(uri)), 0, 24);
}

// Whoever opens the upstream session anew, or becomes the session's home, subscribes to it again.
aio::task<> session_links::keep_subscription(shared_slot s, std::string uri) {
    co_await aio::keep_running_when_cancelled();
    if (s->subscriptions.size() > most_subscriptions || uri.size() > longest_uri) co_return;
    auto& store = in_.sessions.kept()->store();
    while (!closing_ && s->subscriptions.contains(uri)) {
        state::fields values;
        values.emplace_back(subscription_field(*s->of, uri), uri);
        auto key = session::records::record_key(host_.who().key);
        auto written = co_await store.set(std::move(key), std::move(values));
        if (written) break;
        co_await aio::pause(record_pace);
    }
    bool here = is_shared(s->of->settings()) && s->subscriptions.contains(uri);
    if (closing_ || !here) co_return;
    s->noted.insert(uri);
    co_await take_watch(s);
}

void session_links::unsubscribing(const shared_served& server, const std::string& uri) {
    if (!host_.is_kept() || closing_) return;
    auto s = slot_of(server);
    s->noted.erase(uri);
    chores_.spawn(forget_subscription(std::move(s), uri));
}

aio::task<> session_links::forget_subscription(shared_slot s, std::string uri) {
    co_await aio::keep_running_when_cancelled();
    co_await host_.forget_in_record(subscription_field(*s->of, uri));
    if (is_shared(s->of->settings())) tell_of_watch(*s);
}

std::vector<std::string>
session_links::subscriptions_in(const state::fields& record, const served& server) const {
    auto prefix = field_of("sub", server) + ":";
    std::vector<std::string> uris;
    for (const auto& [name, value] : record) {
        if (name.starts_with(prefix)) uris.push_back(value);
    }
    return uris;
}

aio::task<std::vector<std::string>> session_links::subscribed_anywhere(shared_slot s) {
    if (!host_.is_kept()) co_return subscribed_here(*s);
    auto record = co_await host_.read_record();
    if (!record) co_return subscribed_here(*s); // as far as this replica knows
    co_return subscriptions_in(*record, *s->of);
}

aio::task<shared_served> session_links::subscribed_elsewhere(std::string uri) {
    if (!host_.is_kept()) co_return nullptr;
    auto record = co_await host_.read_record();
    if (!record) co_return nullptr;
    for (const auto& server : in_.newest) {
        auto field = subscription_field(*server, uri);
        for (const auto& [name, value] : *record) {
            if (name == field) co_return server;
        }
    }
    co_return nullptr;
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
    auto uris = subscribed_here(*s);
    if (!is_shared(s->of->settings())) uris = co_await subscribed_anywhere(s);
    for (const auto& uri : uris) {
        auto allowed = in_.permit(host_.who(), *s->of);
        if (!allowed) co_return;
        own_request what{std::move(*allowed), "resources/subscribe", uri_params(uri)};
        what.until = aio::clock::now() + limit;
        // Refused or not: the host reads it again and sees.
        [[maybe_unused]] auto answer = co_await ask_quietly(*s->of, link, std::move(what));
        if (closing_ || s->left) co_return;
        bool still = is_shared(s->of->settings())
                         ? s->subscriptions.contains(uri)
                         : host_.is_kept() || s->subscriptions.contains(uri);
        if (still) host_.tell(updated(uri));
    }
}

} // namespace sluice::gateway
