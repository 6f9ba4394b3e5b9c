#include "session/registry.hpp"

#include "sys/random.hpp"

#include <vector>

namespace sluice::session {

registry::registry(aio::executor ex, settings bounds) : bounds_(bounds), tasks_(ex, "session") {}

base::result<std::shared_ptr<session>> registry::open(identity who) {
    if (sessions_.size() >= bounds_.max_sessions) {
        return base::fault(
            base::errc::too_many, "this gateway has " + std::to_string(sessions_.size()) +
                                      " sessions, its limit (limits.sessions); try again later"
        );
    }
    auto& of_key = per_key_[who.principal];
    if (of_key >= bounds_.sessions_per_key) {
        return base::fault(
            base::errc::too_many, "this key has " + std::to_string(of_key) +
                                      " sessions, its limit (limits.sessions_per_key); end some with DELETE"
        );
    }
    who.id = sys::random_id();
    auto made = std::make_shared<session>(tasks_.get_executor(), std::move(who), bounds_, counters_);
    sessions_.emplace(made->who().id, made);
    ++of_key;
    tasks_.spawn(run(made));
    return made;
}

std::shared_ptr<session> registry::open_throw_away(identity who) {
    auto made = std::make_shared<session>(tasks_.get_executor(), std::move(who), bounds_, counters_);
    tasks_.spawn(run(made));
    return made;
}

std::shared_ptr<session> registry::find(std::string_view id, std::string_view principal) {
    auto it = sessions_.find(std::string(id));
    if (it == sessions_.end() || it->second->is_ending()) return nullptr;
    if (it->second->who().principal != principal) return nullptr;
    it->second->touch();
    return it->second;
}

void registry::end(session& s) { s.end(); }

aio::task<> registry::run(std::shared_ptr<session> s) {
    co_await aio::keep_running_when_cancelled();
    co_await s->live();
    if (s->who().id.empty()) co_return;
    sessions_.erase(s->who().id);
    auto it = per_key_.find(s->who().principal);
    if (it != per_key_.end() && --it->second == 0) per_key_.erase(it);
}

std::size_t registry::streams_attached() const {
    std::size_t count = 0;
    for (const auto& [id, s] : sessions_) count += s->attached_streams();
    return count;
}

std::size_t registry::calls_under_way() const {
    std::size_t count = 0;
    for (const auto& [id, s] : sessions_) count += s->calls_under_way();
    return count;
}

aio::task<> registry::shut_down() {
    std::vector<std::shared_ptr<session>> all;
    for (auto& [id, s] : sessions_) all.push_back(s);
    for (auto& s : all) s->end();
    tasks_.stop();
    co_await tasks_.join();
}

}  // namespace sluice::session
