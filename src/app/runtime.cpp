#include "app/runtime.hpp"

#include "aio/within.hpp"
#include "state/redis.hpp"
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

sys::gauge_reading reading(const char* name, const char* help, double value) {
    return {name, help, {}, value, false};
}

} // namespace

runtime::runtime(aio::loop& loop, settings from)
    : loop_(loop), settings_(std::move(from)), deadlines_(loop.get_executor()),
      meters_(settings_.gateway.metric_tool_names),
      names_(settings_.catalog, settings_.upstream.servers), keys_(settings_.policy),
      authoriser_(settings_.policy), sessions_(loop.get_executor(), settings_.session),
      store_(make_store()), seals_(settings_.gateway.salt_keys),
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

std::unique_ptr<state::store> runtime::make_store() {
    const auto& s = settings_.store;
    if (!s.shared) return state::make_memory_store(loop_);
    auto made = state::make_redis_store(loop_, deadlines_, s.redis, &meters_);
    if (made) return std::move(*made);
    store_made_ = std::move(made.error()); // start() says so
    return state::make_memory_store(loop_);
}

std::string runtime::why_unready() {
    if (draining_) return "draining";
    auto health = store_->how();
    store_seen_ = store_seen_ || health.up;
    if (health.up) return "";
    if (!store_seen_) return "the store has not been reached yet";
    auto away = aio::clock::now() - health.since;
    if (away < settings_.store.unready_after) return "";
    auto seconds = std::chrono::duration_cast<std::chrono::seconds>(away).count();
    return "the store has been away for " + std::to_string(seconds) + " s";
}

base::result<void> runtime::start_guard() {
    if (!needs_children(settings_)) return {};
    auto started = net::child_guard::start();
    if (!started) return started.error();
    guard_ = std::move(*started);
    return {};
}

base::result<void> runtime::start() {
    if (!store_made_) return store_made_;
    auto guarded = start_guard();
    if (!guarded) return guarded;
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
    const auto& f = settings_.front;
    front_ = std::make_unique<front::front>(gateway_, keys_, f, listens_on_loopback(f.listen));
    admin_ = std::make_unique<front::admin>(meters_, [this] { return why_unready(); });
    listener_ = std::make_unique<net::http_server>(
        loop_, deadlines_, f.limits, [this](net::exchange& http) { return front_->serve(http); }
    );
    auto listening = listener_->listen(f.listen);
    if (!listening) return listening;
    if (!f.admin_listen.empty()) {
        admin_listener_ = std::make_unique<net::http_server>(
            loop_,
            deadlines_,
            net::http_limits{},
            [this](net::exchange& http) { return admin_->serve(http); }
        );
        auto admin_listening = admin_listener_->listen(f.admin_listen);
        if (!admin_listening) return admin_listening;
    }
    meters_.on_scrape([this] { return read_gauges(); });
    store_->start();
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
        store_seen_ = store_seen_ || store_->how().up;
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
    co_await store_->shut_down();
    if (admin_listener_) co_await admin_listener_->drain(std::chrono::milliseconds(200));
}

std::string runtime::endpoint() const {
    return "http://" + listener_->local_address() + settings_.front.mount_path + "/mcp";
}

std::string runtime::admin_address() const {
    return admin_listener_ ? "http://" + admin_listener_->local_address() : std::string();
}

std::vector<sys::gauge_reading> runtime::read_gauges() {
    std::vector<sys::gauge_reading> all;
    auto number = [](std::size_t n) { return static_cast<double>(n); };
    all.push_back(reading("sluice_sessions", "Live host sessions", number(sessions_.size())));
    all.push_back(
        reading("sluice_streams", "Host streams being read", number(sessions_.streams_attached()))
    );
    all.push_back(
        reading("sluice_calls_in_flight", "Calls under way", number(sessions_.calls_under_way()))
    );
    all.push_back(
        reading("sluice_loop_lag_seconds", "How late the event loop's last tick was", loop_lag_)
    );
    all.push_back(
        reading("sluice_request_bytes", "Bytes of requests under way", number(bodies_.used()))
    );
    if (store_->is_shared()) {
        double up = store_->how().up ? 1 : 0;
        all.push_back(reading("sluice_store_up", "1 = the store answers", up));
    }
    const auto& streams = sessions_.counters();
    all.push_back(
        reading("sluice_stream_bytes", "Bytes kept for hosts' streams", number(streams.bytes))
    );
    const auto& http = listener_->counters();
    all.push_back(reading("sluice_connections", "Open host connections", number(http.open)));
    auto count = [&all](
                     const char* name,
                     const char* help,
                     std::vector<std::pair<std::string, std::string>> labels,
                     std::uint64_t value
                 ) {
        all.push_back({name, help, std::move(labels), static_cast<double>(value), true});
    };
    count(
        "sluice_progress_coalesced_total",
        "Progress notes replaced by a newer one",
        {},
        streams.coalesced
    );
    count("sluice_notes_dropped_total", "Notes dropped at a stream's bound", {}, streams.dropped);
    count(
        "sluice_host_bytes_total",
        "Bytes exchanged with hosts",
        {{"direction", "in"}},
        http.bytes_in
    );
    count(
        "sluice_host_bytes_total",
        "Bytes exchanged with hosts",
        {{"direction", "out"}},
        http.bytes_out
    );
    for (const auto& server : house_.servers) {
        auto status = server->status();
        std::pair<std::string, std::string> name{"server", server->settings().name};
        auto gauge = [&](const char* metric, const char* help, double value) {
            all.push_back({metric, help, {name}, value, false});
        };
        gauge(
            "sluice_upstream_circuit_open",
            "1 = open, 0.5 = half open, 0 = closed",
            status.circuit == upstream::circuit_state::open        ? 1.0
            : status.circuit == upstream::circuit_state::half_open ? 0.5
                                                                   : 0.0
        );
        gauge("sluice_upstream_sessions", "Sessions open at the upstream", number(status.links));
        gauge(
            "sluice_upstream_in_flight",
            "Requests under way at the upstream",
            number(status.in_flight)
        );
        count("sluice_upstream_connects_total", "Connections made", {name}, status.connects);
        count(
            "sluice_upstream_reuses_total", "Requests on a kept connection", {name}, status.reuses
        );
        count(
            "sluice_upstream_late_results_total",
            "Results nobody waited for",
            {name},
            status.late_results
        );
        count(
            "sluice_upstream_stray_messages_total",
            "Messages that belong to no call",
            {name},
            status.stray_messages
        );
        count(
            "sluice_upstream_dropped_notes_total",
            "Notes of the upstream that reached nobody",
            {name},
            status.dropped_notes
        );
        count(
            "sluice_upstream_restarts_total", "Restarts of a local process", {name}, status.restarts
        );
        count(
            "sluice_upstream_bytes_total",
            "Bytes exchanged",
            {name, {"direction", "in"}},
            status.bytes_in
        );
        count(
            "sluice_upstream_bytes_total",
            "Bytes exchanged",
            {name, {"direction", "out"}},
            status.bytes_out
        );
    }
    all.push_back({"sluice_build_info", "Always 1", {{"version", SLUICE_VERSION}}, 1, false});
    return all;
}

} // namespace sluice::app
