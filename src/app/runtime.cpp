#include "app/runtime.hpp"

#include "aio/within.hpp"
#include "app/config_checks.hpp"
#include "app/gauges.hpp"
#include "base/text.hpp"
#include "gateway/links.hpp"
#include "policy/key_names.hpp"
#include "state/redis.hpp"
#include "sys/log.hpp"
#include "sys/random.hpp"

#include <algorithm>

namespace sluice::app {

// A key that no configured upstream is given needs not travel between replicas.
front::peers_settings peers_from(const settings& from) {
    front::peers_settings out;
    out.answer = std::max(out.answer, from.front.sse_after + out.answer / 2);
    out.silence = 2 * from.front.keepalive + out.answer;
    out.mount_path = from.front.mount_path;
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

namespace {

bool needs_children(const settings& from) {
    return std::any_of(
        from.upstream.servers.begin(),
        from.upstream.servers.end(),
        [](const auto& s) { return s.kind == upstream::transport::stdio; }
    );
}

void say_of_upstream(std::string_view server, std::string_view text) {
    sys::log_line(sys::log_level::info, "upstream").field("server", server).field("text", text);
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

runtime::runtime(aio::loop& loop, settings from, std::string file)
    : loop_(loop), settings_(std::move(from)), file_(std::move(file)),
      deadlines_(loop.get_executor()), meters_(settings_.gateway.metric_tool_names),
      doorman_(meters_, deadlines_), around_{loop, deadlines_, nullptr, say_of_upstream},
      store_(make_store()), seals_(settings_.gateway.salt_keys),
      ids_(salts_of_ids(settings_.gateway.salt_keys, store_->is_shared())),
      replicas_(loop, *store_, settings_.gateway.peer),
      records_(*store_, ids_, settings_.session, [this] { return replicas_.self(); }),
      sessions_(loop.get_executor(), settings_.session, &records_),
      roll_(loop, *store_, replicas_, sessions_),
      peers_(loop, deadlines_, replicas_, ids_, meters_, peers_from(settings_)),
      bodies_(settings_.gateway.inflight_bytes),
      permits_([this](const session::identity& who, const gateway::served& server) {
          return gateway::permit_in(newest_->in, newest_->keys, who, server);
      }),
      grounds_{
          loop,
          deadlines_,
          lists_,
          sessions_,
          meters_,
          replicas_,
          bodies_,
          known_,
          numbers_,
          servers_,
          permits_
      },
      estates_(grounds_, [this]() -> gateway::house& { return newest_->in; }),
      chores_(loop.get_executor(), "app") {
    replicas_.reach_by(peers_);
    bodies_.count_also(sessions_.counters().bytes);
    around_.bodies = &bodies_;
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

base::result<void> runtime::start_guard(const settings& from) {
    if (guard_ || !needs_children(from)) return {};
    auto started = net::child_guard::start();
    if (!started) return started.error();
    guard_ = std::move(*started);
    around_.guard = guard_.get();
    return {};
}

// Those whose connection has not changed are the ones that stand.
std::vector<gateway::shared_served> runtime::servers_for(const upstream::settings& from) {
    std::vector<gateway::shared_served> all;
    for (const auto& s : from.servers) {
        auto connection = connection_of(s, from);
        auto same = std::find_if(servers_.begin(), servers_.end(), [&](const auto& one) {
            return one->made_from == connection;
        });
        if (same != servers_.end()) {
            all.push_back(*same);
            continue;
        }
        auto made = upstream::make_server(around_, s, from.stdio, from.circuit);
        all.push_back(std::make_shared<gateway::served>(
            std::move(made), next_server_++, std::move(connection)
        ));
    }
    return all;
}

std::shared_ptr<generation> runtime::make_generation(settings from) {
    auto servers = servers_for(from.upstream);
    auto made =
        generation::make(grounds_, std::move(from), std::move(servers), seals_, *store_, doorman_);
    if (!replicas_.alone()) made->entrance.reach_others(peers_);
    return made;
}

base::result<void> runtime::start() {
    if (!store_made_) return store_made_;
    auto guarded = start_guard(settings_);
    if (!guarded) return guarded;
    newest_ = make_generation(settings_);
    servers_ = newest_->in.servers;
    auto listening = listen();
    if (!listening) return listening;
    auto reachable = listen_to_peers();
    if (!reachable) return reachable;
    listen_to_store();
    announce_configuration();
    replicas_.start();
    meters_.on_scrape([this] {
        auto all =
            read_gauges({sessions_, *listener_, servers_, numbers_, bodies_.used(), loop_lag_});
        count_reloads(all, reloads_ok_, reloads_refused_);
        double up = store_->how().up ? 1 : 0;
        if (store_->is_shared())
            all.push_back({"sluice_store_up", "1 = the store answers", {}, up, false});
        return all;
    });
    newest_->walk.learn_peers();
    auto lag = measure_lag();
    chores_.spawn(std::move(lag));
    auto watch = watch_file();
    chores_.spawn(std::move(watch));
    return {};
}

std::map<std::string, std::string> runtime::names_of_keys() const {
    return policy::names_by_id(newest_->from.policy);
}

void runtime::listen_to_store() {
    sessions_.attach_to_each([this](session::session& host) {
        return std::make_unique<gateway::session_links>(grounds_, host);
    });
    sessions_.doubt_homes_when([this] { return replicas_.may_be_taken_over(); });
    replicas_.on_regained([this] { sessions_.look_at_homes(); });
    records_.tell_of_work([this](const std::string& session) { roll_.add(session); });
    store_->on_word(
        [this](std::string_view channel, std::string_view word) { sessions_.heard(channel, word); },
        [this] { sessions_.doubt_all(); }
    );
    store_->listen(std::string(session::session_channel));
    store_->start();
    sessions_.start_keeping([this] { return names_of_keys(); });
    roll_.start();
    estates_.start();
    if (ids_.can_seal()) return;
    auto salt = share_salt();
    chores_.spawn(std::move(salt));
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
    co_await estates_.shut_down();
    co_await sessions_.shut_down();
    co_await roll_.shut_down();
    if (listener_) co_await listener_->drain(std::chrono::seconds(2));
    co_await replicas_.shut_down();
    if (peer_listener_) co_await peer_listener_->drain(std::chrono::seconds(1));
    chores_.stop();
    co_await chores_.join();
    auto last = forget_old();
    for (auto& one : last)
        co_await one->server->shut_down();
    if (newest_) co_await newest_->walk.shut_down();
    co_await store_->shut_down();
    if (admin_listener_) co_await admin_listener_->drain(std::chrono::milliseconds(200));
}

} // namespace sluice::app
