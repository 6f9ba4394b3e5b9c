// The half of session_links that has to do with other replicas: upstream sessions in the session's
// record, and taken up from there. Decision 2.
#include "aio/within.hpp"
#include "gateway/links.hpp"
#include "gateway/replicas.hpp"

#include <algorithm>

namespace sluice::gateway {

namespace {

// How long the calls of an upstream session that lost a race have to end by themselves.
constexpr auto others_call_off = std::chrono::milliseconds(500);
constexpr auto last_calls = std::chrono::minutes(1);

} // namespace

aio::task<base::result<shared_link>> session_links::open_kept(shared_slot s) {
    auto field = slots_.field("up", *s->of);
    auto known = co_await slots_.store().read_field(slots_.record(), std::move(field));
    // The same one again: it is of no use any more, and a new one takes its place.
    bool fresh = known && *known && **known != s->handle;
    if (fresh) {
        auto adopted = co_await adopt(s, std::move(**known));
        if (adopted) co_return adopted;
    }
    s->replaces = known && known->has_value();
    auto opened = co_await open_one(s);
    if (!opened || !known) co_return opened;
    auto standing = co_await publish(s, std::move(*opened));
    co_return standing;
}

aio::task<base::result<shared_link>> session_links::adopt(shared_slot s, std::string handle) {
    auto request = request_for(*s);
    auto from = viewpoint_of(s->of->settings(), s->of->number, request);
    request.adopt = handle;
    auto adopted = co_await s->of->server->open(std::move(request));
    if (!adopted) co_return adopted;
    s->handle = std::move(handle);
    s->claims_standing = false; // that was for the one before
    s->replaces = false;
    in_.known.learn(from, (*adopted)->peer());
    ++in_.numbers.adopted_upstreams;
    co_return adopted;
}

// Puts it into the record. Nothing when it stands there from now on; else what does, empty when the
// session has ended.
aio::task<base::result<std::optional<std::string>>>
session_links::enter(shared_slot s, std::string handle) {
    auto& store = slots_.store();
    auto key = slots_.record();
    auto field = slots_.field("up", *s->of);
    bool stands = false;
    if (!s->handle.empty()) {
        auto replaced = co_await store.set_if(key, field, s->handle, handle);
        if (!replaced) co_return replaced.error();
        stands = *replaced;
    }
    std::optional<std::string> other;
    if (!stands) {
        auto found = co_await store.set_new(key, field, handle);
        if (!found && found.error().code == base::errc::not_found) co_return std::string();
        if (!found) co_return found.error();
        if (*found && **found != handle) other = std::move(*found);
    }
    if (!other) s->handle = std::move(handle);
    co_return other;
}

// The one that stands in the record wins; the other ends.
aio::task<base::result<shared_link>> session_links::publish(shared_slot s, shared_link made) {
    if (made->handle().empty()) co_return made;
    auto other = co_await enter(s, made->handle());
    if (!other || !*other) co_return made;
    co_await made->close();
    if ((*other)->empty()) co_return base::fault(base::errc::closed, "the session has ended");
    auto adopted = co_await adopt(std::move(s), std::move(**other));
    co_return adopted;
}

// The upstream had forgotten the session, and this replica has opened a new one in its place.
aio::task<> session_links::publish_again(shared_slot s) {
    co_await aio::keep_running_when_cancelled();
    auto link = s->link;
    if (!link) co_return;
    auto other = co_await enter(s, link->handle());
    if (other && *other) {
        co_await give_way(std::move(s), std::move(link));
        co_return;
    }
    if (!other) chores_.spawn(publish_later(s));
    watches_.stands_anew(s);
    co_await watches_.set_up_again(s);
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
        return !slots_.closing && !s->closed && s->link == link && link->usable() &&
               !is_published(*s);
    };
    while (wanted()) {
        co_await aio::pause(record_pace);
        if (!wanted() || !slots_.store().how().up) continue;
        bool replaces = !s->handle.empty();
        auto other = co_await enter(s, link->handle());
        if (!other) continue;
        if (*other) {
            s->publishing = false;
            co_await give_way(std::move(s), std::move(link));
            co_return;
        }
        if (replaces) watches_.stands_anew(s);
    }
    s->publishing = false;
}

// Another replica was quicker: its session is the one; calls under way in this one may end.
aio::task<> session_links::give_way(shared_slot s, shared_link link) {
    if (s->link == link) {
        bool listens = s->claims_standing || watches_.worth_listening(*s);
        s->link.reset();
        if (listens && !slots_.closing) begin_opening(s);
    }
    auto until = aio::clock::now() + last_calls;
    while (link.use_count() > 1 && !slots_.closing && aio::clock::now() < until)
        co_await aio::pause(std::chrono::milliseconds(100));
    co_await link->close();
}

// Other replicas have just heard that the session has ended: their calls are called off upstream
// before the upstream's session goes.
aio::task<> session_links::wait_for_others(const state::fields& record) {
    bool elsewhere = std::any_of(record.begin(), record.end(), [&](const auto& one) {
        if (!session::session::is_call_field(one.first)) return false;
        auto [replica, handle] = session::session::where_it_runs(one.second);
        return !in_.replicas.is_me(replica);
    });
    if (elsewhere) co_await aio::pause(others_call_off);
}

// Upstream sessions that other replicas opened and this one has not taken up.
aio::task<> session_links::close_left(state::fields record) {
    aio::nursery each(host_.get_executor(), "gateway");
    auto servers = in_.newest;
    for (const auto& server : servers) {
        auto s = slots_.at(server);
        const auto* handle = value_in(record, slots_.field("up", *server));
        if (handle == nullptr || handle->empty() || *handle == s->handle) continue;
        auto request = request_for(*s);
        request.adopt = *handle;
        auto adopted = co_await server->server->open(std::move(request));
        if (adopted) each.spawn(close_link(std::move(*adopted)));
    }
    co_await each.join();
}

} // namespace sluice::gateway
