#include "gateway/links.hpp"

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
        auto value = from->get(name);
        if (value) up.emplace_back(name, std::string(*value));
    }
    return up;
}

session_links& links_of(house& in, session::session& host) {
    if (host.held() == nullptr) host.attach(std::make_unique<session_links>(in, host));
    return static_cast<session_links&>(*host.held());
}

aio::task<base::result<shared_link>> session_links::ensure(
    std::size_t server,
    std::shared_ptr<const net::fields> headers,
    aio::instant until,
    std::shared_ptr<session::call> call
) {
    slot& s = slot_of(server); // slots are never erased while the session lives
    if (s.link && s.link->usable()) co_return s.link;
    if (closing_) co_return base::fault(base::errc::closed, "the session is ending");
    if (headers) s.headers = std::move(headers);
    if (!s.opening) {
        s.opening = true;
        auto job = open_for_all(server);
        chores_.spawn(std::move(job));
    }
    s.waiting.emplace_back(host_.get_executor());
    auto place = std::prev(s.waiting.end());
    std::optional<session::call::watch> on_cancel;
    if (call) on_cancel.emplace(*call, [place] { place->wake(); });
    bool cancelled = false;
    while (s.opening && !cancelled && aio::clock::now() < until) {
        [[maybe_unused]] bool woken = co_await place->wait(until);
        auto state = co_await aio::asio::this_coro::cancellation_state;
        cancelled = state.cancelled() != aio::asio::cancellation_type::none ||
                    (call && call->is_cancelled());
    }
    on_cancel.reset();
    s.waiting.erase(place);
    if (cancelled) co_return base::fault(base::errc::cancelled, "cancelled by the host");
    if (s.opening) co_return base::fault(base::errc::timeout, "no session with it in time");
    if (s.link) co_return s.link;
    co_return s.last;
}

aio::task<> session_links::open_for_all(std::size_t server) {
    co_await aio::keep_running_when_cancelled();
    slot& s = slot_of(server);
    s.link.reset();
    base::result<shared_link> opened;
    if (is_kept(server)) {
        opened = co_await open_kept(server);
    } else {
        opened = co_await open_one(server);
    }
    s.opening = false;
    if (opened && !closing_) {
        s.link = *opened;
        s.link->add_listener(s.ear);
        s.declares = request_for(server).capabilities != "{}";
        if (worth_listening(s)) open_standing(server);
        if (!s.subscriptions.empty()) chores_.spawn(subscribe_again(server, false));
    } else if (!opened) {
        s.last = opened.error();
    }
    for (auto& each : s.waiting)
        each.wake();
    bool nobody_wants_it = opened && closing_;
    if (nobody_wants_it) co_await (*opened)->close();
}

upstream::open_request session_links::request_for(std::size_t server) const {
    const auto& s = in_.servers[server]->settings();
    auto found = slots_.find(server);
    auto headers = found == slots_.end() ? nullptr : found->second->headers;
    auto request = opening_for(s, host_.who(), headers.get());
    request.until = aio::clock::now() + s.initialize_timeout;
    return request;
}

aio::task<base::result<shared_link>> session_links::open_one(std::size_t server) {
    auto request = request_for(server);
    auto from = viewpoint_of(in_.servers[server]->settings(), server, request);
    auto until = request.until;
    auto opened = co_await in_.servers[server]->open(std::move(request));
    if (!opened) co_return opened;
    in_.known.learn(from, (*opened)->peer());
    if (!host_.log_level().empty()) co_await set_level(server, *opened, until);
    co_return opened;
}

session_links::slot& session_links::slot_of(std::size_t server) {
    auto& entry = slots_[server];
    if (!entry) {
        entry = std::make_unique<slot>();
        entry->ear = std::make_shared<hearing>(in_, host_, *this, server);
    }
    return *entry;
}

aio::task<> session_links::set_level(std::size_t server, shared_link link, aio::instant until) {
    if (!wire::object_view(link->peer().capabilities).find("logging")) co_return;
    auto params = "{\"level\":" + wire::quote(level_for(server)) + "}";
    // Its own calls will tell what is wrong with it.
    [[maybe_unused]] auto answer =
        co_await ask_quietly(std::move(link), "logging/setLevel", std::move(params), until);
}

std::vector<std::pair<std::size_t, shared_link>> session_links::open() const {
    std::vector<std::pair<std::size_t, shared_link>> found;
    for (const auto& [server, s] : slots_) {
        if (s->link && s->link->usable()) found.emplace_back(server, s->link);
    }
    return found;
}

aio::task<> session_links::close(bool for_all, state::fields record) {
    closing_ = true;
    chores_.stop();
    co_await chores_.join();
    co_await close_here(for_all);
    if (for_all) co_await close_left(std::move(record));
}

// All at the same time: an upstream that does not answer delays none of the others.
aio::task<> session_links::close_here(bool for_all) {
    aio::nursery each(host_.get_executor(), "gateway");
    for (auto& [server, s] : slots_) {
        s->ear.reset();
        if (is_shared(in_.servers[server]->settings())) {
            each.spawn(leave_shared(server, *s));
            continue;
        }
        bool goes_on = !for_all && !s->handle.empty();
        auto link = goes_on ? s->link : std::move(s->link);
        if (goes_on && s->claims_standing) each.spawn(release_standing(server));
        if (link && !goes_on) each.spawn(close_link(std::move(link)));
    }
    co_await each.join();
}

aio::task<> session_links::close_link(shared_link link) {
    co_await aio::keep_running_when_cancelled();
    co_await link->close();
}

} // namespace sluice::gateway
