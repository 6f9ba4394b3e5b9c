#include "gateway/links.hpp"

#include "mcp/client_capabilities.hpp"
#include "wire/json.hpp"

#include <algorithm>
#include <limits>

namespace sluice::gateway {

namespace {

// Whether the upstream of a link is one process shared by all host sessions: then it is not ours to close.
bool is_shared(const upstream::server_settings& s) {
    return s.kind == upstream::transport::stdio && !s.isolation_per_session;
}

}  // namespace

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
    auto& entry = slots_[server];
    if (!entry) entry = std::make_unique<slot>(host_.get_executor());
    slot& s = *entry;  // slots are never erased while the session lives
    while (s.opening) {
        co_await s.ready.wait();
        if (!s.opening && !s.link) co_return s.last;
    }
    if (s.link && s.link->usable()) co_return s.link;
    s.link.reset();
    s.opening = true;
    auto opened = co_await open_one(server, std::move(headers), until);
    s.opening = false;
    if (opened) {
        s.link = *opened;
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
    upstream::open_request request;
    request.revision = std::string(mcp::text_of(host_.who().revision));
    const auto& s = target.settings();
    request.capabilities = mcp::declared_upstream(
        host_.who().capabilities, {s.allow_elicitation, s.allow_sampling, s.allow_roots}
    );
    request.headers = headers_for(target.settings(), headers.get());
    request.until = std::min(until, aio::clock::now() + target.settings().initialize_timeout);
    auto opened = co_await target.open(std::move(request));
    if (!opened) co_return opened;
    in_.peers[server].info = (*opened)->peer();
    if (!host_.log_level().empty()) co_await set_level(*opened, until);
    co_return opened;
}

aio::task<> session_links::set_level(shared_link link, aio::instant until) {
    if (!wire::object_view(link->peer().capabilities).find("logging")) co_return;
    auto params = "{\"level\":" + wire::quote(host_.log_level()) + "}";
    auto parsed = wire::parse_message(wire::make_request("0", "logging/setLevel", params));
    upstream::outgoing request;
    request.message = std::make_shared<const wire::message>(std::move(*parsed));
    request.until = until;
    auto reply = co_await link->call(std::move(request));
    if (!reply) co_return;  // its own calls will tell what is wrong with it
    [[maybe_unused]] auto answer = co_await (*reply)->next(until);
}

std::vector<std::pair<std::size_t, shared_link>> session_links::open() const {
    std::vector<std::pair<std::size_t, shared_link>> found;
    for (const auto& [server, s] : slots_) {
        if (s->link && s->link->usable()) found.emplace_back(server, s->link);
    }
    return found;
}

aio::task<> session_links::close() {
    for (auto& [server, s] : slots_) {
        auto link = std::move(s->link);
        if (!link || is_shared(in_.servers[server]->settings())) continue;
        co_await link->close();
    }
}

}  // namespace sluice::gateway
