#include "gateway/links.hpp"

#include "base/text.hpp"
#include "gateway/claims.hpp"
#include "wire/json.hpp"

#include <algorithm>
#include <limits>

namespace sluice::gateway {

bool is_shared(const upstream::server_settings& s) {
    return s.kind == upstream::transport::stdio && !s.isolation_per_session;
}

std::vector<std::pair<std::string, std::string>>
headers_for(const upstream::server_settings& server, const net::fields* from) {
    std::vector<std::pair<std::string, std::string>> up;
    if (from == nullptr) return up;
    for (const auto& name : server.extra_headers) {
        // Several lines of one name as one list (RFC 9110, 5.3; 6265, 5.4): no server that looks at
        // the first or the last line alone takes a part of it for the whole.
        std::string_view between = base::iequals(name, "cookie") ? "; " : ", ";
        std::optional<std::string> all;
        for (const auto& [given, value] : from->all()) {
            if (base::iequals(given, name)) all = all ? all->append(between).append(value) : value;
        }
        if (all) up.emplace_back(name, std::move(*all));
    }
    return up;
}

session_links& links_of(const grounds& in, session::session& host) {
    if (host.held() == nullptr) host.attach(std::make_unique<session_links>(in, host));
    return static_cast<session_links&>(*host.held());
}

aio::task<base::result<shared_link>> session_links::ensure(
    shared_served server,
    std::shared_ptr<const net::fields> headers,
    aio::instant until,
    std::shared_ptr<session::call> call
) {
    auto s = slot_of(server);
    if (s->link && s->link->usable()) co_return s->link;
    if (closing_) co_return base::fault(base::errc::closed, "the session is ending");
    if (headers) s->headers = std::move(headers);
    if (!s->opening) {
        s->opening = true;
        auto job = open_for_all(s);
        chores_.spawn(std::move(job));
    }
    s->waiting.emplace_back(host_.get_executor());
    auto place = std::prev(s->waiting.end());
    std::optional<session::call::watch> on_cancel;
    if (call) on_cancel.emplace(*call, [place] { place->wake(); });
    bool cancelled = false;
    while (s->opening && !cancelled && aio::clock::now() < until) {
        [[maybe_unused]] bool woken = co_await place->wait(until);
        auto state = co_await aio::asio::this_coro::cancellation_state;
        cancelled = state.cancelled() != aio::asio::cancellation_type::none ||
                    (call && call->is_cancelled());
    }
    on_cancel.reset();
    s->waiting.erase(place);
    if (cancelled) co_return base::fault(base::errc::cancelled, "cancelled by the host");
    if (s->opening) co_return base::fault(base::errc::timeout, "no session with it in time");
    if (s->link) co_return s->link;
    co_return s->last;
}

aio::task<> session_links::open_for_all(shared_slot s) {
    co_await aio::keep_running_when_cancelled();
    s->link.reset();
    base::result<shared_link> opened;
    if (is_kept(*s->of)) {
        opened = co_await open_kept(s);
    } else {
        opened = co_await open_one(s);
    }
    s->opening = false;
    bool wanted = !closing_ && !s->closed;
    if (opened && wanted) {
        s->link = *opened;
        if (s->ear) s->link->add_listener(s->ear);
        if (is_kept(*s->of) && !is_published(*s)) chores_.spawn(publish_later(s));
        s->declares = request_for(*s).capabilities != "{}";
        bool again = subscribes_again(*s);
        bool listens = worth_listening(*s);
        s->replaces = s->replaces && listens;
        if (listens) open_standing(s);
        if (again) chores_.spawn(subscribe_again(s, false));
    } else if (!opened) {
        s->last = opened.error();
    }
    for (auto& each : s->waiting)
        each.wake();
    bool nobody_wants_it = opened && !wanted;
    if (nobody_wants_it) co_await (*opened)->close();
}

// What is subscribed in the record was so with the session that this one replaces, or at another
// home of the host's session.
bool session_links::subscribes_again(const slot& s) const {
    if (is_kept(*s.of)) return s.replaces;
    bool moved_here = host_.is_kept() && s.of->server->is_bound_here();
    return moved_here || !s.subscriptions.empty();
}

upstream::open_request session_links::request_for(const slot& s) const {
    const auto& settings = s.of->settings();
    auto request = opening_for(settings, host_.who(), s.headers.get());
    request.until = aio::clock::now() + settings.initialize_timeout;
    return request;
}

aio::task<base::result<shared_link>> session_links::open_one(shared_slot s) {
    auto request = request_for(*s);
    auto from = viewpoint_of(s->of->settings(), s->of->number, request);
    auto until = request.until;
    auto opened = co_await s->of->server->open(std::move(request));
    if (!opened) co_return opened;
    in_.known.learn(from, (*opened)->peer());
    if (!host_.log_level().empty()) co_await set_level(s->of, *opened, until);
    co_return opened;
}

session_links::shared_slot session_links::slot_of(const shared_served& server) {
    auto& entry = slots_[server.get()];
    if (!entry) {
        entry = std::make_shared<slot>();
        entry->of = server;
        entry->ear = std::make_shared<hearing>(in_, host_, *this, server);
    }
    return entry;
}

const session_links::slot* session_links::find_slot(const served& server) const {
    auto found = slots_.find(&server);
    return found == slots_.end() ? nullptr : found->second.get();
}

aio::task<> session_links::set_level(shared_served server, shared_link link, aio::instant until) {
    if (!wire::object_view(link->peer().capabilities).find("logging")) co_return;
    auto allowed = in_.permit(host_.who(), *server);
    if (!allowed) co_return;
    auto params = "{\"level\":" + wire::quote(level_for(server)) + "}";
    own_request what{std::move(*allowed), "logging/setLevel", std::move(params), until};
    // Its own calls will tell what is wrong with it.
    [[maybe_unused]] auto answer = co_await ask_quietly(*server, std::move(link), std::move(what));
}

shared_link session_links::open_link(const served& server) const {
    const auto* s = find_slot(server);
    return s != nullptr && s->link && s->link->usable() ? s->link : nullptr;
}

aio::task<> session_links::close(bool for_all, state::fields record) {
    closing_ = true;
    chores_.stop();
    co_await chores_.join();
    if (for_all) co_await wait_for_others(record);
    co_await close_here(for_all);
    if (for_all) co_await close_left(std::move(record));
}

// All at the same time: an upstream that does not answer delays none of the others.
aio::task<> session_links::close_here(bool for_all) {
    aio::nursery each(host_.get_executor(), "gateway");
    for (auto& [server, s] : slots_) {
        s->ear.reset();
        if (is_shared(s->of->settings())) {
            if (!for_all && s->claims_standing) unclaim(in_, host_, field_of("get", *s->of));
            each.spawn(leave_shared(s));
            continue;
        }
        bool goes_on = !for_all && is_published(*s);
        auto link = goes_on ? s->link : std::move(s->link);
        if (goes_on && s->claims_standing) unclaim(in_, host_, field_of("get", *s->of));
        if (link && !goes_on) each.spawn(close_link(std::move(link)));
    }
    co_await each.join();
}

aio::task<> session_links::close_link(shared_link link) {
    co_await aio::keep_running_when_cancelled();
    co_await link->close();
}

void session_links::keep_only(const std::vector<shared_served>& allowed) {
    for (auto& [server, s] : slots_) {
        bool stays = std::find(allowed.begin(), allowed.end(), s->of) != allowed.end();
        if (stays != s->left) continue;
        s->left = !stays;
        s->ear.reset();
        if (!stays) continue;
        s->ear = std::make_shared<hearing>(in_, host_, *this, s->of);
        if (s->link) s->link->add_listener(s->ear);
    }
}

void session_links::let_go() {
    if (closing_) return;
    for (auto it = slots_.begin(); it != slots_.end();) {
        auto s = it->second;
        if (!s->left) {
            ++it;
            continue;
        }
        it = slots_.erase(it);
        s->closed = true;
        chores_.spawn(leave(std::move(s)));
    }
}

// A server that is gone from this replica's configuration may be another replica's still, which
// then uses the same upstream session: that one is only left, not ended.
aio::task<> session_links::leave(shared_slot s) {
    co_await aio::keep_running_when_cancelled();
    if (is_shared(s->of->settings())) {
        if (s->claims_standing) unclaim(in_, host_, field_of("get", *s->of));
        co_await leave_shared(std::move(s));
        co_return;
    }
    bool kept = !s->handle.empty();
    bool gone = std::find(in_.newest.begin(), in_.newest.end(), s->of) == in_.newest.end();
    if (kept && s->claims_standing) unclaim(in_, host_, field_of("get", *s->of));
    if (kept && gone) co_return;
    if (kept) co_await host_.forget_in_record(field_of("up", *s->of));
    auto link = std::move(s->link);
    if (link) co_await link->close();
}

} // namespace sluice::gateway
