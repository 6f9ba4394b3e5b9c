// The half of watching that has to do with subscriptions to resources: which this replica has made,
// what the session's record says of them, and making them again.
#include "aio/within.hpp"
#include "base/text.hpp"
#include "gateway/links.hpp"
#include "gateway/own_request.hpp"
#include "gateway/replicas.hpp"
#include "gateway/watching.hpp"
#include "sys/digest.hpp"

#include <algorithm>
#include <utility>

namespace sluice::gateway {

namespace {

// What the record takes of a session's subscriptions; any more are known to one replica alone.
constexpr std::size_t most_subscriptions = 1'000;
constexpr std::size_t longest_uri = 8 * 1024;

std::string uri_params(const std::string& uri) {
    return "{\"uri\":" + wire::quote(uri) + "}";
}

std::string updated(const std::string& uri) {
    return wire::make_notification("notifications/resources/updated", uri_params(uri));
}

void note_subscribed(slot& s, const std::string& uri, bool done) {
    auto it = s.subscriptions.find(uri);
    if (it == s.subscriptions.end() || it->second) return; // an earlier one stands
    if (!done) {
        s.subscriptions.erase(it);
        return;
    }
    it->second = true;
    ++s.of->peers.subscribers[uri];
}

// False when other sessions keep the shared upstream's own subscription alive.
bool drop_subscription(slot& s, const std::string& uri) {
    auto& all = s.of->peers.subscribers;
    auto it = s.subscriptions.find(uri);
    bool counted = it != s.subscriptions.end() && it->second;
    if (it != s.subscriptions.end()) s.subscriptions.erase(it);
    auto count = all.find(uri);
    if (counted && count != all.end() && --count->second == 0) all.erase(count);
    return !is_shared(s.of->settings()) || !all.contains(uri);
}

} // namespace

void watching::subscribing(const shared_served& server, const std::string& uri) {
    auto s = slots_.at(server);
    s->subscriptions.try_emplace(uri, false);
    s->noted.erase(uri); // until it is in the record again
    if (is_shared(server->settings())) remember_permission(*s);
    open_standing(s);
}

void watching::subscribed(const shared_served& server, const std::string& uri, bool done) {
    auto s = slots_.at(server);
    // Each time: another replica may have taken it out of the record since.
    if (done && host_.is_kept()) chores_.spawn(keep_subscription(s, uri));
    note_subscribed(*s, uri, done);
}

shared_served watching::subscribed_at(const std::string& uri) const {
    for (const auto& [server, s] : slots_.all) {
        auto it = s->subscriptions.find(uri);
        if (it != s->subscriptions.end() && it->second) return s->of;
    }
    return nullptr;
}

aio::task<shared_served> watching::subscribed_elsewhere(std::string uri) {
    if (!host_.is_kept()) co_return nullptr;
    auto record = co_await host_.read_record();
    if (!record) co_return nullptr;
    for (const auto& server : in_.newest) {
        if (value_in(*record, subscription_field(*server, uri)) != nullptr) co_return server;
    }
    co_return nullptr;
}

void watching::unsubscribing(const shared_served& server, const std::string& uri) {
    if (!host_.is_kept() || slots_.closing) return;
    auto s = slots_.at(server);
    s->noted.erase(uri);
    chores_.spawn(forget_subscription(std::move(s), uri));
}

bool watching::unsubscribed(const shared_served& server, const std::string& uri) {
    return drop_subscription(*slots_.at(server), uri);
}

// An update may name a part of what was subscribed. What comes to the host's own upstream session
// was meant for it, whatever it names.
bool watching::asked_for_updates(const served& server, const std::string& uri, bool shared) const {
    const auto* found = slots_.find(server);
    if (found == nullptr) return false;
    const auto& mine = found->subscriptions;
    // Another replica may have subscribed, in this very upstream session.
    if (!shared) return host_.is_kept() || !mine.empty();
    return std::any_of(mine.begin(), mine.end(), [&](const auto& one) {
        return uri.starts_with(one.first);
    });
}

std::string watching::subscription_field(const served& server, std::string_view uri) const {
    auto field = slots_.field("sub", server).append(":");
    return field.append(base::hex(sys::sha256(uri)), 0, 24);
}

// Whoever opens the upstream session anew, or becomes the session's home, subscribes to it again.
aio::task<> watching::keep_subscription(shared_slot s, std::string uri) {
    co_await aio::keep_running_when_cancelled();
    if (s->subscriptions.size() > most_subscriptions || uri.size() > longest_uri) co_return;
    while (!slots_.closing && s->subscriptions.contains(uri)) {
        state::fields values;
        values.emplace_back(subscription_field(*s->of, uri), uri);
        auto written = co_await slots_.store().set(slots_.record(), std::move(values));
        if (written) break;
        co_await aio::pause(record_pace);
    }
    bool here = is_shared(s->of->settings()) && s->subscriptions.contains(uri);
    if (slots_.closing || !here) co_return;
    s->noted.insert(uri);
    // Whoever has subscribed last has all of them, so that one look tells where they are.
    s->replaces = true;
    co_await claim_in_turn(s);
}

aio::task<> watching::forget_subscription(shared_slot s, std::string uri) {
    co_await aio::keep_running_when_cancelled();
    co_await host_.forget_in_record(subscription_field(*s->of, uri));
    if (is_shared(s->of->settings())) tell_of_watch(*s);
}

std::vector<std::string>
watching::subscriptions_in(const state::fields& record, const served& server) const {
    auto prefix = slots_.field("sub", server) + ":";
    std::vector<std::string> uris;
    for (const auto& [name, value] : record) {
        if (name.starts_with(prefix)) uris.push_back(value);
    }
    return uris;
}

// What is known here says nothing of others; it is all there is of a process of this replica's own.
aio::task<std::vector<std::string>> watching::subscriptions_of(shared_slot s) {
    if (host_.is_kept() && !is_shared(s->of->settings())) {
        auto record = co_await host_.read_record();
        if (record) co_return subscriptions_in(*record, *s->of);
    }
    std::vector<std::string> uris;
    for (const auto& [uri, sure] : s->subscriptions) {
        if (sure) uris.push_back(uri);
    }
    co_return uris;
}

void watching::missed(const shared_served& server) {
    if (!slots_.closing) chores_.spawn(tell_all_updated(slots_.at(server)));
}

aio::task<> watching::tell_all_updated(shared_slot s) {
    co_await aio::keep_running_when_cancelled();
    auto uris = co_await subscriptions_of(std::move(s));
    for (const auto& uri : uris) {
        if (!slots_.closing) host_.tell(updated(uri));
    }
}

// What is asked for without the host's asking.
aio::task<watching::came> watching::subscribe_at(shared_slot s, shared_link link, std::string uri) {
    auto allowed = in_.permit(host_.who(), *s->of);
    if (!allowed) co_return came::not_allowed;
    if (!link) co_return came::nothing;
    own_request what{std::move(*allowed), "resources/subscribe", uri_params(uri)};
    what.until = aio::clock::now() + s->of->settings().timeout;
    auto answer = co_await ask_quietly(*s->of, std::move(link), std::move(what));
    if (!answer) co_return came::nothing;
    co_return answer->error.present() ? came::no : came::yes;
}

aio::task<> watching::set_up_again(shared_slot s) {
    co_await aio::keep_running_when_cancelled();
    auto until = aio::clock::now() + s->of->settings().timeout;
    if (s->link) co_await set_level(s->of, s->link, until);
    co_await subscribe_again(std::move(s));
}

aio::task<> watching::subscribe_again(shared_slot s) {
    co_await aio::keep_running_when_cancelled();
    auto link = s->link;
    if (!link) co_return;
    bool alone = !host_.is_kept() || is_shared(s->of->settings());
    auto uris = co_await subscriptions_of(s);
    for (const auto& uri : uris) {
        // Refused or not: the host reads it again and sees.
        auto said = co_await subscribe_at(s, link, uri);
        if (said == came::not_allowed || slots_.closing || s->left) co_return;
        bool still = !alone || s->subscriptions.contains(uri);
        if (still) host_.tell(updated(uri));
    }
}

// What the record has and this replica's process was not told. False when it did not answer.
aio::task<bool> watching::subscribe_to(shared_slot s, std::vector<std::string> uris) {
    std::erase_if(uris, [&](const auto& uri) { return s->subscriptions.contains(uri); });
    if (!uris.empty()) co_await links_.take_up(s->of);
    for (const auto& uri : uris) {
        if (slots_.closing) co_return true;
        subscribing(s->of, uri);
        auto said = co_await subscribe_at(s, s->link, uri);
        note_subscribed(*s, uri, said == came::yes);
        if (said == came::not_allowed) co_return true;
        if (said == came::nothing) co_return false;
        if (said == came::yes) s->noted.insert(uri);
        if (s->missed && !slots_.closing) host_.tell(updated(uri));
    }
    s->missed = false;
    co_return true;
}

// The process goes on: it is told when no other session is subscribed to that.
aio::task<> watching::leave_subscription(shared_slot s, std::string uri, aio::instant until) {
    s->noted.erase(uri);
    bool last = drop_subscription(*s, uri);
    if (!last || !s->link || !s->link->usable() || !s->allowed) co_return;
    own_request what{*s->allowed, "resources/unsubscribe", uri_params(uri), until};
    [[maybe_unused]] auto answer = co_await ask_quietly(*s->of, s->link, std::move(what));
}

// False when something did not answer.
aio::task<bool> watching::follow_record(shared_slot s) {
    auto record = co_await host_.read_record();
    if (!record) co_return record.error().code == base::errc::not_found;
    if (slots_.closing) co_return true;
    const auto* holder = value_in(*record, slots_.field("get", *s->of));
    bool mine = holder != nullptr && in_.replicas.is_me(*holder);
    auto wanted = subscriptions_in(*record, *s->of);
    s->claims_standing = mine;
    s->watches = !wanted.empty();
    auto noted = s->noted;
    auto until = aio::clock::now() + farewell;
    for (const auto& uri : noted) {
        bool stays = mine && std::find(wanted.begin(), wanted.end(), uri) != wanted.end();
        // Not one that is being subscribed to anew meanwhile.
        if (!stays && s->noted.contains(uri)) co_await leave_subscription(s, uri, until);
    }
    if (mine) {
        bool done = co_await subscribe_to(s, std::move(wanted));
        co_return done;
    }
    if (s->watches && listening_ && !slots_.closing) chores_.spawn(claim_in_turn(s));
    co_return true;
}

} // namespace sluice::gateway
