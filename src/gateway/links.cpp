#include "gateway/links.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <utility>

namespace sluice::gateway {

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
    auto s = slots_.at(server);
    if (s->link && s->link->usable()) co_return s->link;
    if (slots_.closing) co_return base::fault(base::errc::closed, "the session is ending");
    if (headers) s->headers = std::move(headers);
    begin_opening(s);
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

aio::task<bool> session_links::take_up(shared_served server) {
    auto until = aio::clock::now() + server->settings().initialize_timeout;
    auto taken_up = co_await ensure(std::move(server), nullptr, until);
    co_return bool(taken_up);
}

void session_links::begin_opening(const shared_slot& s) {
    if (!std::exchange(s->opening, true)) chores_.spawn(open_for_all(s));
}

aio::task<> session_links::open_for_all(shared_slot s) {
    co_await aio::keep_running_when_cancelled();
    s->link.reset();
    base::result<shared_link> opened;
    if (slots_.is_kept(*s->of)) {
        opened = co_await open_kept(s);
    } else {
        opened = co_await open_one(s);
    }
    s->opening = false;
    bool wanted = !slots_.closing && !s->closed;
    if (opened && wanted) {
        s->link = *opened;
        hear(*s);
        if (slots_.is_kept(*s->of) && !is_published(*s)) chores_.spawn(publish_later(s));
        s->declares = request_for(*s).capabilities != "{}";
        watches_.opened(s);
    } else if (!opened) {
        s->last = opened.error();
    }
    for (auto& each : s->waiting)
        each.wake();
    bool nobody_wants_it = opened && !wanted;
    if (nobody_wants_it) co_await (*opened)->close();
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
    co_await watches_.set_level(s->of, *opened, until);
    co_return opened;
}

// Nothing of a server that the session may not use.
void session_links::hear(slot& s) {
    if (s.left) return;
    if (!s.ear) s.ear = std::make_shared<hearing>(in_, host_, *this, s.of);
    s.link->add_listener(s.ear);
}

shared_link session_links::open_link(const served& server) const {
    const auto* s = slots_.find(server);
    return s != nullptr && s->link && s->link->usable() ? s->link : nullptr;
}

void session_links::reopened(const shared_served& server) {
    if (slots_.closing) return;
    auto s = slots_.at(server);
    if (slots_.is_kept(*server))
        chores_.spawn(publish_again(s)); // and then the same, if this one is to stand
    else
        chores_.spawn(watches_.set_up_again(s));
}

aio::task<> session_links::close(bool for_all, state::fields record) {
    slots_.closing = true;
    chores_.stop();
    co_await chores_.join();
    if (for_all) co_await wait_for_others(record);
    co_await close_here(for_all);
    if (for_all) co_await close_left(std::move(record));
}

// All at the same time: an upstream that does not answer delays none of the others.
aio::task<> session_links::close_here(bool for_all) {
    aio::nursery each(host_.get_executor(), "gateway");
    for (auto& [server, s] : slots_.all) {
        s->ear.reset();
        each.spawn(watches_.leave(s, for_all));
        if (is_shared(s->of->settings()) || (!for_all && is_published(*s))) continue;
        auto link = std::move(s->link);
        if (link) each.spawn(close_link(std::move(link)));
    }
    co_await each.join();
}

aio::task<> session_links::close_link(shared_link link) {
    co_await aio::keep_running_when_cancelled();
    co_await link->close();
}

void session_links::keep_only(const std::vector<shared_served>& allowed) {
    for (auto& [server, s] : slots_.all) {
        bool stays = std::find(allowed.begin(), allowed.end(), s->of) != allowed.end();
        if (stays != s->left) continue;
        s->left = !stays;
        s->ear.reset();
        if (stays && s->link) hear(*s);
    }
}

void session_links::let_go() {
    if (slots_.closing) return;
    for (auto it = slots_.all.begin(); it != slots_.all.end();) {
        auto s = it->second;
        if (!s->left) {
            ++it;
            continue;
        }
        it = slots_.all.erase(it);
        s->closed = true;
        chores_.spawn(leave(std::move(s)));
    }
}

// A server that is gone from this replica's configuration may be another replica's still, which
// then uses the same upstream session: that one is only left, not ended.
aio::task<> session_links::leave(shared_slot s) {
    co_await aio::keep_running_when_cancelled();
    co_await watches_.leave(s, false);
    if (is_shared(s->of->settings())) co_return;
    bool kept = !s->handle.empty();
    bool gone = std::find(in_.newest.begin(), in_.newest.end(), s->of) == in_.newest.end();
    if (kept && gone) co_return;
    if (kept) co_await host_.forget_in_record(slots_.field("up", *s->of));
    auto link = std::move(s->link);
    if (link) co_await link->close();
}

} // namespace sluice::gateway
