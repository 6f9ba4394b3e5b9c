// The part of session_links that has to do with subscriptions at a process which sessions share:
// each replica has a process of its own, so of a session's subscriptions there one replica's
// process is told, and another's when that replica is gone. Who it is stands in the session's
// record, as the subscriptions do. Decision 2.
#include "aio/within.hpp"
#include "gateway/claims.hpp"
#include "gateway/links.hpp"
#include "gateway/replicas.hpp"

#include <algorithm>

namespace sluice::gateway {

namespace {
constexpr auto farewell = std::chrono::seconds(2);
}

// Whoever has subscribed last has all of them, so that one look tells where they are.
aio::task<> session_links::take_watch(shared_slot s) {
    auto held = co_await claim(in_, host_, field_of("get", *s->of), true);
    if (!held || !held->mine || closing_) co_return;
    tell_of_watch(*s);
    co_await look_at_watch(std::move(s));
}

void session_links::tell_of_watch(const slot& s) {
    in_.sessions.kept()->tell("watch " + host_.who().key + " " + s.of->settings().name);
}

// In this session's record something has changed of its subscriptions at that server.
void session_links::others_say(std::string_view server) {
    if (closing_) return;
    for (const auto& one : in_.newest) {
        bool meant = one->settings().name == server && is_shared(one->settings());
        if (meant) chores_.spawn(look_at_watch(slot_of(one)));
    }
}

// One look at a time, as each changes what the process is subscribed to.
aio::task<> session_links::look_at_watch(shared_slot s) {
    co_await aio::keep_running_when_cancelled();
    s->look_again = true;
    if (std::exchange(s->looking, true)) co_return;
    while (std::exchange(s->look_again, false) && !closing_)
        co_await follow_record(s);
    s->looking = false;
}

aio::task<> session_links::follow_record(shared_slot s) {
    auto key = session::records::record_key(host_.who().key);
    auto record = co_await in_.sessions.kept()->store().read(std::move(key));
    if (!record || !*record || closing_) co_return;
    auto field = field_of("get", *s->of);
    bool mine = std::any_of((*record)->begin(), (*record)->end(), [&](const auto& one) {
        return one.first == field && in_.replicas.is_me(one.second);
    });
    auto wanted = subscriptions_in(**record, *s->of);
    s->claims_standing = mine;
    s->watches = !wanted.empty();
    auto noted = s->noted;
    auto until = aio::clock::now() + farewell;
    for (const auto& uri : noted) {
        bool stays = mine && std::find(wanted.begin(), wanted.end(), uri) != wanted.end();
        if (!stays) co_await leave_subscription(s, uri, until);
    }
    if (mine) {
        co_await subscribe_to(s, std::move(wanted));
    } else if (s->watches && listening_ && !closing_) {
        chores_.spawn(watch_in_turn(s));
    }
}

// Takes over when the replica that has them is gone.
aio::task<> session_links::watch_in_turn(shared_slot s) {
    co_await aio::keep_running_when_cancelled();
    s->watches = true;
    if (std::exchange(s->claiming, true)) co_return;
    auto goes_on = [&] { return !closing_ && !s->left && !s->closed && s->watches; };
    while (goes_on() && !s->claims_standing) {
        auto held = co_await claim(in_, host_, field_of("get", *s->of), false);
        if (held && held->mine) {
            s->claims_standing = true;
            break;
        }
        std::string holder;
        if (held) holder = std::move(held->holder);
        co_await outwait(s, std::move(holder));
    }
    s->claiming = false;
    if (!goes_on() || !s->claims_standing) co_return;
    s->missed = true;
    tell_of_watch(*s);
    co_await look_at_watch(std::move(s));
}

aio::task<> session_links::subscribe_to(shared_slot s, std::vector<std::string> uris) {
    bool may_have_changed = std::exchange(s->missed, false);
    std::erase_if(uris, [&](const auto& uri) { return s->subscriptions.contains(uri); });
    if (uris.empty()) co_return;
    co_await take_up(s->of);
    for (const auto& uri : uris) {
        auto link = s->link;
        auto allowed = in_.permit(host_.who(), *s->of);
        if (closing_ || !link || !allowed) co_return;
        subscribing(s->of, uri);
        own_request what{std::move(*allowed), "resources/subscribe", uri_params(uri)};
        what.until = aio::clock::now() + s->of->settings().timeout;
        auto answer = co_await ask_quietly(*s->of, std::move(link), std::move(what));
        bool done = answer && !answer->error.present();
        note_subscribed(*s, uri, done);
        if (done) s->noted.insert(uri);
        if (may_have_changed && !closing_) host_.tell(updated(uri));
    }
}

// The process goes on: it is told when no other session is subscribed to that.
aio::task<> session_links::leave_subscription(shared_slot s, std::string uri, aio::instant until) {
    s->noted.erase(uri);
    bool last = drop_subscription(*s, uri);
    if (!last || !s->link || !s->link->usable() || !s->allowed) co_return;
    own_request what{*s->allowed, "resources/unsubscribe", uri_params(uri), until};
    [[maybe_unused]] auto answer = co_await ask_quietly(*s->of, s->link, std::move(what));
}

} // namespace sluice::gateway
