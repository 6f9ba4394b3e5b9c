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

// Until the next try, when the store or the process does not answer.
constexpr auto first_pause = std::chrono::milliseconds(500);
constexpr auto longest_pause = std::chrono::seconds(30);

} // namespace

// Whoever has subscribed last has all of them, so that one look tells where they are.
aio::task<> session_links::take_watch(shared_slot s) {
    auto field = field_of("get", *s->of);
    auto held = co_await claim(in_, host_, field, true);
    while (!held && held.error().code != base::errc::not_found && !closing_) {
        co_await aio::pause(first_pause);
        held = co_await claim(in_, host_, field, true);
    }
    if (!held || !held->mine || closing_) co_return;
    tell_of_watch(*s);
    co_await look_at_watch(std::move(s));
}

void session_links::tell_of_watch(const slot& s) {
    in_.sessions.kept()->tell("watch " + host_.who().key + " " + s.of->settings().name);
}

void session_links::others_say(std::string_view server) {
    if (closing_) return;
    for (const auto& one : in_.newest) {
        bool meant = server.empty() || one->settings().name == server;
        if (!meant || !is_shared(one->settings())) continue;
        const auto* known = find_slot(*one);
        bool concerns = listening_ && !server.empty();
        if (known != nullptr)
            concerns =
                concerns || known->watches || known->claims_standing || !known->noted.empty();
        if (concerns) chores_.spawn(look_at_watch(slot_of(one)));
    }
}

// One look at a time, as each changes what the process is subscribed to; until what it asked was
// answered.
aio::task<> session_links::look_at_watch(shared_slot s) {
    co_await aio::keep_running_when_cancelled();
    s->look_again = true;
    if (std::exchange(s->looking, true)) co_return;
    aio::duration wait = first_pause;
    while (std::exchange(s->look_again, false) && !closing_ && !s->closed) {
        bool done = co_await follow_record(s);
        if (done || closing_) continue;
        co_await aio::pause(wait);
        wait = std::min<aio::duration>(wait * 2, longest_pause);
        s->look_again = true;
    }
    s->looking = false;
}

// False when something did not answer.
aio::task<bool> session_links::follow_record(shared_slot s) {
    auto record = co_await host_.read_record();
    if (!record) co_return record.error().code == base::errc::not_found;
    if (closing_) co_return true;
    auto field = field_of("get", *s->of);
    bool mine = std::any_of(record->begin(), record->end(), [&](const auto& one) {
        return one.first == field && in_.replicas.is_me(one.second);
    });
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
    if (s->watches && listening_ && !closing_) chores_.spawn(watch_in_turn(s));
    co_return true;
}

// Takes over when the replica that has them is gone.
aio::task<> session_links::watch_in_turn(shared_slot s) {
    co_await aio::keep_running_when_cancelled();
    s->watches = true;
    if (std::exchange(s->claiming, true)) co_return;
    auto waits = [&] {
        return !closing_ && !s->left && !s->closed && s->watches && !s->claims_standing;
    };
    bool took = false;
    while (waits() && !took) {
        auto held = co_await claim(in_, host_, field_of("get", *s->of), false);
        took = held && held->mine;
        std::string holder;
        if (held) holder = std::move(held->holder);
        if (!took) co_await outwait(s, std::move(holder));
    }
    s->claiming = false;
    if (!took || closing_) co_return;
    s->missed = true;
    tell_of_watch(*s);
    co_await look_at_watch(std::move(s));
}

// False when the process did not answer.
aio::task<bool> session_links::subscribe_to(shared_slot s, std::vector<std::string> uris) {
    std::erase_if(uris, [&](const auto& uri) { return s->subscriptions.contains(uri); });
    if (!uris.empty()) co_await take_up(s->of);
    for (const auto& uri : uris) {
        auto link = s->link;
        auto allowed = in_.permit(host_.who(), *s->of);
        if (closing_ || !allowed) co_return true;
        if (!link) co_return false;
        subscribing(s->of, uri);
        own_request what{std::move(*allowed), "resources/subscribe", uri_params(uri)};
        what.until = aio::clock::now() + s->of->settings().timeout;
        auto answer = co_await ask_quietly(*s->of, std::move(link), std::move(what));
        bool done = answer && !answer->error.present();
        note_subscribed(*s, uri, done);
        if (!answer) co_return false;
        if (done) s->noted.insert(uri);
        if (s->missed && !closing_) host_.tell(updated(uri));
    }
    s->missed = false;
    co_return true;
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
