#include "session/registry.hpp"

#include "sys/random.hpp"

#include <vector>

namespace sluice::session {

namespace {

// A session used less than this ago is somebody's; it is never ended to make room.
constexpr auto idle_enough = std::chrono::minutes(1);

} // namespace

registry::registry(aio::executor ex, settings bounds) : bounds_(bounds), tasks_(ex, "session") {}

base::result<std::shared_ptr<session>> registry::open(identity who) {
    who.id = sys::random_id();
    auto key = who.id;
    return admit(std::move(who), std::move(key));
}

base::result<std::shared_ptr<session>> registry::open_throw_away(identity who) {
    who.id.clear();
    return admit(std::move(who), "\n" + std::to_string(next_throw_away_++));
}

base::result<std::shared_ptr<session>> registry::admit(identity who, std::string key) {
    if (sessions_.size() >= bounds_.max_sessions) {
        return base::fault(
            base::errc::too_many,
            "this gateway has " + std::to_string(sessions_.size()) +
                " sessions, its limit (limits.sessions); try again later"
        );
    }
    auto held = per_key_.find(who.principal);
    if (held != per_key_.end() && held->second >= bounds_.sessions_per_key &&
        !make_room_for(who.principal)) {
        return base::fault(
            base::errc::too_many,
            "this key has " + std::to_string(held->second) +
                " sessions, its limit (limits.sessions_per_key); end some with DELETE",
            429
        );
    }
    auto made =
        std::make_shared<session>(tasks_.get_executor(), std::move(who), bounds_, counters_);
    sessions_.emplace(key, made);
    ++per_key_[made->who().principal];
    auto job = run(made, std::move(key));
    tasks_.spawn(std::move(job));
    return made;
}

bool registry::make_room_for(std::string_view principal) {
    session* longest = nullptr;
    auto latest = aio::clock::now() - idle_enough;
    for (auto& [key, s] : sessions_) {
        bool candidate = s->who().principal == principal && !s->is_busy() && !s->is_ending();
        if (!candidate || s->last_used() > latest) continue;
        latest = s->last_used();
        longest = s.get();
    }
    if (longest == nullptr) return false;
    longest->end();
    return true;
}

std::shared_ptr<session> registry::find(std::string_view id, std::string_view principal) {
    auto it = sessions_.find(std::string(id));
    if (it == sessions_.end() || it->second->is_ending()) return nullptr;
    if (it->second->who().principal != principal) return nullptr;
    it->second->touch();
    return it->second;
}

void registry::end(session& s) {
    s.end();
}

aio::task<> registry::run(std::shared_ptr<session> s, std::string key) {
    co_await aio::keep_running_when_cancelled();
    co_await s->live();
    sessions_.erase(key);
    auto it = per_key_.find(s->who().principal);
    if (it != per_key_.end() && --it->second == 0) per_key_.erase(it);
}

std::size_t registry::streams_attached() const {
    std::size_t count = 0;
    for (const auto& [id, s] : sessions_)
        count += s->attached_streams();
    return count;
}

std::size_t registry::calls_under_way() const {
    std::size_t count = 0;
    for (const auto& [id, s] : sessions_)
        count += s->calls_under_way();
    return count;
}

aio::task<> registry::shut_down() {
    std::vector<std::shared_ptr<session>> all;
    all.reserve(sessions_.size());
    for (auto& [id, s] : sessions_)
        all.push_back(s);
    for (auto& s : all)
        s->end();
    tasks_.stop();
    co_await tasks_.join();
}

} // namespace sluice::session
