#include "app/runtime.hpp"

#include "aio/within.hpp"
#include "app/gauges.hpp"
#include "sys/log.hpp"

#include <algorithm>

namespace sluice::app {

namespace {

bool listens_on_loopback(std::string_view address) {
    return address.starts_with("127.") || address.starts_with("localhost") ||
           address.starts_with("[::1]");
}

bool needs_children(const settings& from) {
    return std::any_of(
        from.upstream.servers.begin(),
        from.upstream.servers.end(),
        [](const auto& s) { return s.kind == upstream::transport::stdio; }
    );
}

} // namespace

runtime::runtime(aio::loop& loop, settings from)
    : loop_(loop), settings_(std::move(from)), deadlines_(loop.get_executor()),
      meters_(settings_.gateway.metric_tool_names),
      names_(settings_.catalog, settings_.upstream.servers), keys_(settings_.policy),
      authoriser_(settings_.policy, settings_.upstream.servers),
      sessions_(loop.get_executor(), settings_.session), store_(state::make_memory_store()),
      seals_(settings_.gateway.salt_keys),
      pages_(seals_, *store_, {settings_.gateway.cursor_lifetime, settings_.catalog.max_pages}),
      bodies_(settings_.gateway.inflight_bytes),
      house_{
          loop,
          deadlines_,
          names_,
          lists_,
          authoriser_,
          sessions_,
          meters_,
          pages_,
          bodies_,
          settings_.registry_digest,
          {},
          {},
          settings_.gateway
      },
      gateway_(house_), chores_(loop.get_executor(), "app") {}

runtime::~runtime() = default;

base::result<void> runtime::start_guard() {
    if (!needs_children(settings_)) return {};
    auto started = net::child_guard::start();
    if (!started) return started.error();
    guard_ = std::move(*started);
    return {};
}

void runtime::build_servers() {
    upstream::surroundings
        around{loop_, deadlines_, guard_.get(), [](std::string_view server, std::string_view text) {
                   sys::log_line(sys::log_level::info, "upstream")
                       .field("server", server)
                       .field("text", text);
               }};
    for (const auto& s : settings_.upstream.servers) {
        house_.servers.push_back(
            upstream::make_server(around, s, settings_.upstream.stdio, settings_.upstream.circuit)
        );
    }
    house_.peers.resize(house_.servers.size());
}

base::result<void> runtime::listen() {
    const auto& f = settings_.front;
    front_ = std::make_unique<front::front>(gateway_, keys_, f, listens_on_loopback(f.listen));
    admin_ =
        std::make_unique<front::admin>(meters_, [this] { return draining_ ? "draining" : ""; });
    listener_ = std::make_unique<net::http_server>(
        loop_, deadlines_, f.limits, [this](net::exchange& http) { return front_->serve(http); }
    );
    auto listening = listener_->listen(f.listen);
    if (!listening || f.admin_listen.empty()) return listening;
    admin_listener_ = std::make_unique<net::http_server>(
        loop_,
        deadlines_,
        net::http_limits{},
        [this](net::exchange& http) { return admin_->serve(http); }
    );
    return admin_listener_->listen(f.admin_listen);
}

base::result<void> runtime::start() {
    auto guarded = start_guard();
    if (!guarded) return guarded;
    build_servers();
    auto listening = listen();
    if (!listening) return listening;
    meters_.on_scrape([this] {
        return read_gauges({sessions_, *listener_, house_.servers, bodies_.used(), loop_lag_});
    });
    gateway_.learn_peers();
    auto lag = measure_lag();
    chores_.spawn(std::move(lag));
    return {};
}

aio::task<> runtime::measure_lag() {
    co_await aio::keep_running_when_cancelled();
    constexpr auto interval = std::chrono::milliseconds(500);
    while (!chores_.stopping()) {
        auto due = aio::clock::now() + interval;
        co_await aio::pause(interval);
        loop_lag_ = std::max(std::chrono::duration<double>(aio::clock::now() - due).count(), 0.0);
    }
}

aio::task<> runtime::drain() {
    co_await aio::keep_running_when_cancelled();
    draining_ = true;
    if (listener_) listener_->stop_accepting();
    auto until = aio::clock::now() + settings_.gateway.drain_timeout;
    while (sessions_.calls_under_way() > 0 && aio::clock::now() < until) {
        co_await aio::pause(std::chrono::milliseconds(20));
    }
    co_await sessions_.shut_down();
    if (listener_) co_await listener_->drain(std::chrono::seconds(2));
    co_await gateway_.shut_down();
    chores_.stop();
    co_await chores_.join();
    if (admin_listener_) co_await admin_listener_->drain(std::chrono::milliseconds(200));
}

std::string runtime::endpoint() const {
    return "http://" + listener_->local_address() + settings_.front.mount_path + "/mcp";
}

std::string runtime::admin_address() const {
    return admin_listener_ ? "http://" + admin_listener_->local_address() : std::string();
}

} // namespace sluice::app
