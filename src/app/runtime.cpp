#include "app/runtime.hpp"

#include "aio/within.hpp"
#include "app/gauges.hpp"
#include "base/text.hpp"
#include "state/redis.hpp"
#include "sys/log.hpp"
#include "sys/random.hpp"

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

// A key that no configured upstream is given needs not travel between replicas.
front::peers_settings peers_from(const settings& from) {
    front::peers_settings out;
    out.answer = std::max(out.answer, from.front.sse_after + out.answer / 2);
    out.silence = 2 * from.front.keepalive + out.answer;
    out.dropped_headers = {"x-sluice-api-key", "x-litellm-api-key"};
    const auto& servers = from.upstream.servers;
    bool needed = std::any_of(servers.begin(), servers.end(), [](const auto& s) {
        return std::any_of(s.extra_headers.begin(), s.extra_headers.end(), [](const auto& name) {
            return base::iequals(name, "authorization");
        });
    });
    if (!needed) out.dropped_headers.emplace_back("authorization");
    return out;
}

// Cursors need a configured salt; ids of sessions do not: a replica alone makes one, and several
// share one through the store (decision 21).
std::vector<base::secret> salts_of_ids(std::vector<base::secret> configured, bool shared) {
    if (!configured.empty() || shared) return configured;
    sys::log_line(sys::log_level::info, "salt")
        .field("text", "salt_keys is not set: ids of sessions hold until this process ends");
    configured.emplace_back(sys::random_id(32));
    return configured;
}

} // namespace

runtime::runtime(aio::loop& loop, settings from)
    : loop_(loop), settings_(std::move(from)), deadlines_(loop.get_executor()),
      meters_(settings_.gateway.metric_tool_names),
      names_(settings_.catalog, settings_.upstream.servers), keys_(settings_.policy),
      authoriser_(settings_.policy, settings_.upstream.servers), store_(make_store()),
      seals_(settings_.gateway.salt_keys),
      ids_(salts_of_ids(settings_.gateway.salt_keys, store_->is_shared())),
      replicas_(loop, *store_, settings_.gateway.peer),
      records_(*store_, ids_, settings_.session, [this] { return replicas_.self(); }),
      sessions_(loop.get_executor(), settings_.session, &records_),
      peers_(loop, deadlines_, replicas_, ids_, meters_, peers_from(settings_)),
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
          replicas_,
          bodies_,
          settings_.registry_digest,
          {},
          {},
          settings_.gateway,
          {}
      },
      gateway_(house_), chores_(loop.get_executor(), "app") {
    bodies_.count_also(sessions_.counters().bytes);
}

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

void runtime::build_servers() {
    upstream::surroundings
        around{loop_, deadlines_, guard_.get(), [](std::string_view server, std::string_view text) {
                   sys::log_line(sys::log_level::info, "upstream")
                       .field("server", server)
                       .field("text", text);
               }};
    around.bodies = &bodies_;
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
    admin_ = std::make_unique<front::admin>(meters_, [this] { return why_unready(); });
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

base::result<void> runtime::listen_to_peers() {
    const auto& f = settings_.front;
    if (f.peer_listen.empty()) return {};
    auto limits = f.limits;
    limits.max_header_bytes += 4096; // the claim and its signature
    front::behind_door inside{
        [this](net::exchange& http, policy::caller who) {
            return front_->serve_forwarded(http, std::move(who));
        },
        [this](const net::request_head& head) { return front_->make_room(head); }
    };
    peer_door_ =
        std::make_unique<front::peer_door>(replicas_, ids_, keys_, meters_, std::move(inside));
    peer_listener_ =
        std::make_unique<net::http_server>(loop_, deadlines_, limits, [this](net::exchange& http) {
            return peer_door_->serve(http);
        });
    auto listening = peer_listener_->listen(f.peer_listen);
    if (!listening) return listening;
    if (settings_.gateway.peer.address.empty()) replicas_.be_at(peer_listener_->local_address());
    return {};
}

base::result<void> runtime::start() {
    if (!store_made_) return store_made_;
    auto guarded = start_guard();
    if (!guarded) return guarded;
    build_servers();
    auto listening = listen();
    if (!listening) return listening;
    auto reachable = listen_to_peers();
    if (!reachable) return reachable;
    if (!replicas_.alone()) front_->reach_others(peers_);
    listen_to_store();
    replicas_.start();
    meters_.on_scrape([this] {
        auto all = read_gauges(
            {sessions_, *listener_, house_.servers, house_.numbers, bodies_.used(), loop_lag_}
        );
        double up = store_->how().up ? 1 : 0;
        if (store_->is_shared())
            all.push_back({"sluice_store_up", "1 = the store answers", {}, up, false});
        return all;
    });
    gateway_.learn_peers();
    auto lag = measure_lag();
    chores_.spawn(std::move(lag));
    return {};
}

void runtime::listen_to_store() {
    store_->on_word(
        [this](std::string_view channel, std::string_view word) { sessions_.heard(channel, word); },
        [this] { sessions_.doubt_all(); }
    );
    store_->listen(std::string(session::session_channel));
    store_->start();
    sessions_.start_keeping();
    if (ids_.can_seal()) return;
    auto salt = share_salt();
    chores_.spawn(std::move(salt));
}

// The first replica's random salt is everybody's; until it is known no session can be opened.
aio::task<> runtime::share_salt() {
    co_await aio::keep_running_when_cancelled();
    constexpr auto life = std::chrono::hours(24 * 30);
    constexpr auto again = std::chrono::milliseconds(200);
    constexpr auto renewal = std::chrono::hours(1);
    auto mine = sys::random_id(32);
    while (!chores_.stopping()) {
        auto other = co_await store_->put_new("salt", mine, life);
        if (other && !ids_.can_seal()) {
            std::vector<base::secret> salts;
            salts.emplace_back(*other ? **other : mine);
            ids_ = sys::sealer(salts);
        }
        if (other) [[maybe_unused]]
            auto kept = co_await store_->keep("salt", life);
        aio::duration rest = again;
        if (other) rest = renewal;
        co_await aio::pause(rest);
    }
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
    co_await replicas_.shut_down();
    if (peer_listener_) co_await peer_listener_->drain(std::chrono::seconds(1));
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

} // namespace sluice::app
