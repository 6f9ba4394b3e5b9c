// The half of session_links that has to do with other replicas: upstream sessions in the session's
// record, taken up from there, and which replica listens to an upstream. Decision 2.
#include "aio/within.hpp"
#include "base/text.hpp"
#include "gateway/claims.hpp"
#include "gateway/links.hpp"
#include "gateway/replicas.hpp"
#include "sys/digest.hpp"

#include <algorithm>

namespace sluice::gateway {

namespace {

// How long the calls of an upstream session that lost a race have to end by themselves.
constexpr auto others_call_off = std::chrono::milliseconds(500);
constexpr auto last_calls = std::chrono::minutes(1);
// How often a replica that would listen asks whether the one that does still wants to.
constexpr auto claim_again = std::chrono::seconds(30);

} // namespace

bool session_links::is_kept(const served& server) const {
    return in_.sessions.shared() && !host_.who().key.empty() &&
           server.settings().kind == upstream::transport::http && !server.server->is_bound_here();
}

// Replicas whose configurations differ in where a server is share no session with it.
std::string session_links::field_of(std::string_view kind, const served& server) const {
    std::string field(kind);
    field.append(":").append(server.settings().name);
    std::string_view url = server.settings().url; // its query may hold a credential
    auto reached = base::hex(sys::sha256(url.substr(0, url.find('?'))));
    return field.append(":").append(reached, 0, 8);
}

aio::task<base::result<shared_link>> session_links::open_kept(shared_slot s) {
    auto& store = in_.sessions.kept()->store();
    auto key = session::records::record_key(host_.who().key);
    auto known = co_await store.read_field(key, field_of("up", *s->of));
    // The same one again: it is of no use any more, and a new one takes its place.
    bool fresh = known && *known && **known != s->handle;
    if (fresh) {
        auto request = request_for(*s);
        auto from = viewpoint_of(s->of->settings(), s->of->number, request);
        request.adopt = **known;
        auto adopted = co_await s->of->server->open(std::move(request));
        if (adopted) {
            s->handle = std::move(**known);
            s->claims_standing = false; // that was for the one before
            s->replaces = false;
            in_.known.learn(from, (*adopted)->peer());
            ++in_.numbers.adopted_upstreams;
            co_return adopted;
        }
    }
    s->replaces = known && known->has_value();
    auto opened = co_await open_one(s);
    if (!opened || !known) co_return opened;
    auto standing = co_await publish(s, std::move(*opened));
    co_return standing;
}

// Which upstream session stands in the record from now on: this one, or another's.
aio::task<base::result<std::string>> session_links::enter(shared_slot s, std::string handle) {
    auto& store = in_.sessions.kept()->store();
    auto key = session::records::record_key(host_.who().key);
    auto field = field_of("up", *s->of);
    if (!s->handle.empty()) {
        auto replaced = co_await store.set_if(key, field, s->handle, handle);
        if (!replaced) co_return replaced.error();
        if (*replaced) co_return handle;
    }
    auto other = co_await store.set_new(key, field, handle);
    if (!other) co_return other.error();
    if (*other) co_return std::move(**other);
    co_return handle;
}

// The one that stands in the record wins; the other ends.
aio::task<base::result<shared_link>> session_links::publish(shared_slot s, shared_link made) {
    auto handle = made->handle();
    if (handle.empty()) co_return made;
    auto stands = co_await enter(s, handle);
    if (!stands && stands.error().code == base::errc::not_found) {
        co_await made->close();
        co_return base::fault(base::errc::closed, "the session has ended");
    }
    if (!stands) co_return made;
    if (*stands == handle) {
        s->handle = std::move(handle);
        co_return made;
    }
    co_await made->close();
    s->replaces = false;
    s->claims_standing = false;
    auto request = request_for(*s);
    request.adopt = *stands;
    auto adopted = co_await s->of->server->open(std::move(request));
    if (adopted) s->handle = std::move(*stands);
    co_return adopted;
}

// The upstream had forgotten the session, and this replica has opened a new one in its place.
aio::task<> session_links::publish_again(shared_slot s) {
    co_await aio::keep_running_when_cancelled();
    auto link = s->link;
    if (!link) co_return;
    auto handle = link->handle();
    auto stands = co_await enter(s, handle);
    bool ended = !stands && stands.error().code == base::errc::not_found;
    if (ended || (stands && *stands != handle)) {
        co_await give_way(std::move(s), std::move(link));
        co_return;
    }
    if (stands)
        s->handle = std::move(handle);
    else
        chores_.spawn(publish_later(s));
    stands_in_its_place(s);
    co_await subscribe_again(s, true);
}

bool session_links::is_published(const slot& s) {
    return !s.handle.empty() && (!s.link || s.link->handle() == s.handle);
}

// Until the store is back an upstream session serves this replica alone.
aio::task<> session_links::publish_later(shared_slot s) {
    co_await aio::keep_running_when_cancelled();
    if (s->publishing || !s->link || s->link->handle().empty()) co_return;
    s->publishing = true;
    auto link = s->link;
    auto wanted = [&] {
        return !closing_ && !s->closed && s->link == link && link->usable() && !is_published(*s);
    };
    while (wanted()) {
        co_await aio::pause(record_pace);
        if (!wanted() || !in_.sessions.kept()->store().how().up) continue;
        auto handle = link->handle();
        auto stands = co_await enter(s, handle);
        bool ended = !stands && stands.error().code == base::errc::not_found;
        if (!stands && !ended) continue;
        if (ended || *stands != handle) {
            s->publishing = false;
            co_await give_way(std::move(s), std::move(link));
            co_return;
        }
        bool replaced = !s->handle.empty();
        s->handle = std::move(handle);
        if (replaced) stands_in_its_place(s);
    }
    s->publishing = false;
}

// Another replica was quicker: its session is the one; calls under way in this one may end.
aio::task<> session_links::give_way(shared_slot s, shared_link link) {
    if (s->link == link) {
        bool listens = s->claims_standing || worth_listening(*s);
        s->link.reset();
        if (listens) chores_.spawn(take_up(s->of));
    }
    auto until = aio::clock::now() + last_calls;
    while (link.use_count() > 1 && !closing_ && aio::clock::now() < until)
        co_await aio::pause(std::chrono::milliseconds(100));
    co_await link->close();
}

// Who listened to the one before hears nothing any more: this replica listens now.
void session_links::stands_in_its_place(const shared_slot& s) {
    s->claims_standing = false;
    s->replaces = s->link && s->link->usable() && worth_listening(*s);
    if (s->replaces) open_standing(s);
}

void session_links::open_standing(const shared_slot& s) {
    if (!s->link || !s->link->usable()) return;
    if (!is_kept(*s->of) || s->claims_standing) {
        s->link->open_standing();
        return;
    }
    chores_.spawn(claim_standing(s));
}

// The host listens here: what other replicas have opened for it, or subscribed to, is heard from
// here too, should nobody hear it.
aio::task<> session_links::take_up_all() {
    co_await aio::keep_running_when_cancelled();
    auto record = co_await host_.read_record();
    if (!record) co_return;
    auto servers = in_.newest;
    for (const auto& server : servers) {
        auto field = field_of("up", *server);
        bool subscribed = !subscriptions_in(*record, *server).empty();
        bool open = std::any_of(record->begin(), record->end(), [&](const auto& one) {
            return one.first == field && !one.second.empty();
        });
        bool wanted = (open || subscribed) && !closing_ && in_.permit(host_.who(), *server);
        if (!wanted) continue;
        if (is_shared(server->settings()))
            chores_.spawn(watch_in_turn(slot_of(server)));
        else
            co_await take_up(server);
    }
}

aio::task<> session_links::take_up(shared_served server) {
    co_await aio::keep_running_when_cancelled();
    auto until = aio::clock::now() + server->settings().initialize_timeout;
    // Its own calls will tell what is wrong with it.
    [[maybe_unused]] auto taken_up = co_await ensure(std::move(server), nullptr, until);
}

// One replica listens to an upstream session; when it is gone, the next that would takes over.
aio::task<> session_links::claim_standing(shared_slot s) {
    co_await aio::keep_running_when_cancelled();
    if (s->claiming) co_return;
    s->claiming = true;
    bool after_another = false;
    while (!closing_ && s->link && s->link->usable()) {
        bool whoever_has_it = std::exchange(s->replaces, false);
        auto held = co_await claim(in_, host_, field_of("get", *s->of), whoever_has_it);
        s->claims_standing = held && held->mine;
        if (held && held->from_dead) after_another = true;
        if (s->claims_standing) break;
        if (!held) s->replaces = whoever_has_it; // the store did not say
        std::string holder;
        if (held) holder = std::move(held->holder);
        after_another = after_another || !holder.empty();
        co_await outwait(s, std::move(holder));
    }
    s->claiming = false;
    if (!s->claims_standing || !s->link || !s->link->usable() || closing_) co_return;
    if (after_another)
        s->link->take_over_standing();
    else
        s->link->open_standing();
}

// Until that replica is dead, or may have given it up. What is looked at is shared by all sessions.
aio::task<> session_links::outwait(shared_slot s, std::string holder) {
    auto until = aio::clock::now() + claim_again;
    auto pace = std::max<aio::duration>(in_.replicas.lease() / 3, std::chrono::milliseconds(200));
    while (!closing_ && !s->replaces && aio::clock::now() < until) {
        co_await aio::pause(pace);
        if (closing_ || holder.empty()) break;
        auto alive = co_await in_.replicas.find(holder);
        if (!alive && alive.error().code == base::errc::not_found) break;
    }
}

// Other replicas have just heard that the session has ended: their calls are called off upstream
// before the upstream's session goes.
aio::task<> session_links::wait_for_others(const state::fields& record) {
    bool elsewhere = std::any_of(record.begin(), record.end(), [&](const auto& one) {
        return one.first.starts_with("call:") && !in_.replicas.is_me(one.second);
    });
    if (elsewhere) co_await aio::pause(others_call_off);
}

// Upstream sessions that other replicas opened and this one has not taken up.
aio::task<> session_links::close_left(state::fields record) {
    aio::nursery each(host_.get_executor(), "gateway");
    auto servers = in_.newest;
    for (const auto& server : servers) {
        auto field = field_of("up", *server);
        auto s = slot_of(server);
        for (auto& [name, handle] : record) {
            if (name != field || handle.empty() || handle == s->handle) continue;
            auto request = request_for(*s);
            request.adopt = std::move(handle);
            auto adopted = co_await server->server->open(std::move(request));
            if (adopted) each.spawn(close_link(std::move(*adopted)));
        }
    }
    co_await each.join();
}

} // namespace sluice::gateway
