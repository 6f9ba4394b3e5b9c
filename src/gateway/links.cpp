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
    std::size_t server, std::shared_ptr<const net::fields> headers, aio::instant until
) {
    slot& s = slot_of(server); // slots are never erased while the session lives
    while (s.opening) {
        co_await s.ready.wait();
        if (!s.opening && !s.link) co_return s.last;
    }
    if (s.link && s.link->usable()) co_return s.link;
    s.link.reset();
    s.opening = true;
    if (headers) s.headers = headers;
    auto opened = co_await open_one(server, std::move(headers), until);
    s.opening = false;
    if (opened) {
        s.link = *opened;
        s.link->add_listener(s.ear);
        if (worth_listening(s)) s.link->open_standing();
        if (!s.subscriptions.empty()) chores_.spawn(subscribe_again(server, false));
    } else {
        s.last = opened.error();
    }
    s.ready.wake_all();
    co_return opened;
}

aio::task<base::result<shared_link>> session_links::open_one(
    std::size_t server, std::shared_ptr<const net::fields> headers, aio::instant until
) {
    auto& target = *in_.servers[server];
    auto request = opening_for(target.settings(), host_.who(), headers.get());
    auto from = viewpoint_of(target.settings(), server, request);
    request.until = std::min(until, aio::clock::now() + target.settings().initialize_timeout);
    auto opened = co_await target.open(std::move(request));
    if (!opened) co_return opened;
    in_.known.learn(from, (*opened)->peer());
    if (!host_.log_level().empty()) co_await set_level(*opened, until);
    co_return opened;
}

session_links::slot& session_links::slot_of(std::size_t server) {
    auto& entry = slots_[server];
    if (!entry) {
        entry = std::make_unique<slot>(host_.get_executor());
        entry->ear = std::make_shared<hearing>(in_, host_, *this, server);
    }
    return *entry;
}

aio::task<> session_links::set_level(shared_link link, aio::instant until) {
    if (!wire::object_view(link->peer().capabilities).find("logging")) co_return;
    auto params = "{\"level\":" + wire::quote(host_.log_level()) + "}";
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

aio::task<> session_links::close() {
    closing_ = true;
    chores_.stop();
    co_await chores_.join();
    for (auto& [server, s] : slots_) {
        bool shared = is_shared(in_.servers[server]->settings());
        if (shared) co_await leave_shared(server, *s);
        s->ear.reset();
        auto link = std::move(s->link);
        if (!link || shared) continue;
        co_await link->close();
    }
}

} // namespace sluice::gateway
