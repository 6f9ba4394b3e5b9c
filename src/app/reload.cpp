// The configuration is read again while the process runs: on SIGHUP, and when the file changes.
// Requests that are under way end in the generation where they began; what nobody uses any more of
// an old one is closed when nothing runs in any old one.
#include "aio/within.hpp"
#include "app/config.hpp"
#include "app/config_checks.hpp"
#include "app/runtime.hpp"
#include "sys/file_mark.hpp"
#include "sys/log.hpp"

#include <algorithm>
#include <exception>

namespace sluice::app {

namespace {

constexpr auto look_every = std::chrono::milliseconds(500);
constexpr auto old_looked_at = std::chrono::milliseconds(100);
constexpr auto others_looked_at = std::chrono::milliseconds(200);
// How long a reload of one replica after another may take: a ConfigMap reaches the pods within the
// kubelet's period and the age of its cache, a minute each.
constexpr auto longest_roll = std::chrono::minutes(3);

void log_problem(const problem& one) {
    auto text = render({one});
    text.resize(std::min(text.find('\n'), text.size()));
    sys::log_line(sys::log_level::error, "reload").field("outcome", "refused").field("text", text);
}

} // namespace

void runtime::reload(std::string_view why) {
    if (draining_) return;
    auto loaded = load_config(file_);
    for (const auto& one : loaded.problems)
        log_problem(one);
    base::result<void> taken = base::fault(base::errc::config, "the file has problems");
    if (loaded.ok()) taken = take_over(std::move(loaded.values));
    ++(taken ? reloads_ok_ : reloads_refused_);
    if (taken) return;
    sys::log_line(sys::log_level::error, "reload")
        .field("outcome", "refused")
        .field("why", why)
        .field("text", "nothing has changed: " + taken.error().message);
}

// All or nothing: what can fail comes before anything is changed.
base::result<void> runtime::take_over(settings now) {
    auto guarded = start_guard(now);
    if (!guarded) return guarded;
    auto fixed = keep_fixed(now);
    auto log = now.log;
    std::shared_ptr<generation> made;
    try {
        made = make_generation(std::move(now));
    } catch (const std::exception& e) {
        return base::fault(base::errc::config, e.what());
    }
    sys::configure_log(log);
    for (const auto& key : fixed) {
        sys::log_line(sys::log_level::warn, "reload")
            .field("key", key)
            .field("text", "has changed, which takes effect at the next start");
    }
    adjust_process(made->from);
    replace(std::move(made));
    return {};
}

// What stays as it is until the next start.
std::vector<std::string> runtime::keep_fixed(settings& now) {
    std::vector<std::string> names;
    auto before = fixed_in(settings_);
    auto after = fixed_in(now);
    // Salts may replace salts; sessions could not outlive the first or the last one.
    bool salted = !settings_.gateway.salt_keys.empty() && !now.gateway.salt_keys.empty();
    for (std::size_t i = 0; i < before.size(); ++i) {
        if (before[i].second == after[i].second) continue;
        if (before[i].first == "salt_keys" && salted) continue;
        names.emplace_back(before[i].first);
    }
    if (!salted) now.gateway.salt_keys = settings_.gateway.salt_keys;
    now.front.limits = settings_.front.limits;
    now.front.listen = settings_.front.listen; // what it means for loopback is what is bound
    return names;
}

void runtime::adjust_process(const settings& now) {
    settings_.session = now.session;
    sessions_.use(now.session);
    settings_.gateway.drain_timeout = now.gateway.drain_timeout;
    settings_.store.unready_after = now.store.unready_after;
    peers_.use(peers_from(now));
    if (now.gateway.salt_keys.empty()) return;
    settings_.gateway.salt_keys = now.gateway.salt_keys;
    seals_ = sys::sealer(now.gateway.salt_keys);
    ids_ = sys::sealer(now.gateway.salt_keys);
}

void runtime::replace(std::shared_ptr<generation> made) {
    auto before = std::exchange(newest_, std::move(made));
    auto gone = std::count_if(servers_.begin(), servers_.end(), [this](const auto& one) {
        return !newest_->has(one);
    });
    auto fresh =
        std::count_if(newest_->in.servers.begin(), newest_->in.servers.end(), [&](const auto& one) {
            return !before->has(one);
        });
    servers_ = newest_->in.servers;
    auto sessions = gateway::renew_sessions(
        {before->walk, before->in, before->keys}, {newest_->walk, newest_->in, newest_->keys}
    );
    newest_->walk.learn_peers();
    announce_configuration();
    sys::log_line(sys::log_level::info, "reload")
        .field("outcome", "ok")
        .field("servers_opened", static_cast<std::uint64_t>(fresh))
        .field("servers_left", static_cast<std::uint64_t>(gone))
        .field("sessions_told", sessions.told)
        .field("sessions_to_tell", sessions.to_tell.size())
        .field("sessions_ended", sessions.ended);
    if (!sessions.to_tell.empty()) {
        auto telling = tell_all(newest_, std::move(sessions.to_tell), configuration_mark());
        chores_.spawn(std::move(telling));
    }
    old_.push_back(std::move(before));
    if (old_.size() > 1) return; // somebody waits for the others already
    auto job = close_old();
    chores_.spawn(std::move(job));
}

// The same word on every replica with this configuration, which does not help to guess a credential
// in it. Empty while the salt is not known.
std::string runtime::configuration_mark() const {
    if (!ids_.can_seal()) return {};
    auto text = newest_->from.registry_digest;
    for (const auto& one : newest_->in.servers)
        text += one->made_from;
    return ids_.sign(sys::purpose::peer, text);
}

void runtime::announce_configuration() {
    replicas_.now_runs(configuration_mark());
}

// A host that is told asks again, and any replica may answer: it is told when none has the old
// lists any more. Each replica comes here, and the first of them tells.
aio::task<> runtime::tell_all(
    std::shared_ptr<generation> with, std::vector<gateway::changed> whom, std::string mark
) {
    co_await aio::keep_running_when_cancelled();
    auto until = aio::clock::now() + longest_roll;
    auto waits = [&] {
        return newest_ == with && !chores_.stopping() && aio::clock::now() < until;
    };
    while (waits()) {
        auto all = co_await replicas_.all_run(mark);
        if (all && *all) break;
        co_await aio::pause(others_looked_at);
    }
    std::size_t told = 0;
    until = aio::clock::now() + longest_roll;
    while (!whom.empty() && aio::clock::now() < until) {
        std::vector<gateway::changed> later; // the store did not say
        for (auto& one : whom) {
            if (chores_.stopping()) co_return;
            auto first = co_await gateway::tell_once(grounds_, one, mark);
            if (first && *first) ++told;
            if (!first) later.push_back(std::move(one));
        }
        whom = std::move(later);
        if (!whom.empty()) co_await aio::pause(others_looked_at);
    }
    sys::log_line(sys::log_level::info, "reload")
        .field("outcome", "told")
        .field("sessions_told", told)
        .field("sessions_not_told", whom.size());
}

aio::task<> runtime::close_old() {
    co_await aio::keep_running_when_cancelled();
    auto occupied = [](const auto& one) { return one->is_occupied(); };
    while (std::any_of(old_.begin(), old_.end(), occupied)) {
        co_await aio::pause(old_looked_at);
        if (chores_.stopping()) co_return; // the drain does it
    }
    gateway::close_unused(grounds_);
    auto count = old_.size();
    for (std::size_t i = 0; i < count; ++i) {
        auto one = old_[i];
        co_await one->walk.settle();
    }
    if (old_.size() != count || std::any_of(old_.begin(), old_.end(), occupied)) {
        auto again = close_old(); // another reload came meanwhile
        chores_.spawn(std::move(again));
        co_return;
    }
    auto unused = forget_old();
    for (auto& one : unused)
        co_await one->server->shut_down();
}

// Servers that only old generations have. Those are let go; listening streams may still hold one.
std::vector<gateway::shared_served> runtime::forget_old() {
    std::vector<gateway::shared_served> unused;
    for (auto& one : old_) {
        for (auto& server : one->in.servers) {
            bool listed = std::find(unused.begin(), unused.end(), server) != unused.end();
            if (listed || newest_->has(server)) continue;
            lists_.forget(server->number);
            unused.push_back(server);
        }
    }
    old_.clear();
    return unused;
}

// A file that is being written is left alone until it has rested for one look.
aio::task<> runtime::watch_file() {
    co_await aio::keep_running_when_cancelled();
    auto loaded = sys::file_mark(file_);
    auto last = loaded;
    while (!chores_.stopping()) {
        co_await aio::pause(look_every);
        if (chores_.stopping()) break;
        auto now = sys::file_mark(file_);
        bool rests = now == std::exchange(last, now);
        if (!rests || now == loaded) continue;
        loaded = now;
        reload("the file has changed");
    }
}

} // namespace sluice::app
