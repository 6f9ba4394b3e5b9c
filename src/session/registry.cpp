#include "session/registry.hpp"

#include "sys/clock.hpp"
#include "sys/random.hpp"

namespace sluice::session {

namespace {

// What holds a session that no request is at: the list of sessions, and its own task. Who still
// holds one that was not used for so long is no request on its way to a call.
constexpr long held_at_rest = 2;
constexpr auto on_its_way = std::chrono::seconds(3);

} // namespace

registry::registry(aio::executor ex, settings bounds, records* kept)
    : bounds_(bounds), records_(kept), tasks_(ex, "session"), chores_(ex, "session") {}

base::result<std::shared_ptr<session>> registry::open(identity who) {
    who.opened_ms = sys::wall_ms();
    if (records_ != nullptr) {
        auto minted = records_->mint(who);
        if (!minted) return minted.error();
    } else {
        who.id = sys::random_id();
        who.key = who.id;
    }
    if (shared() && who.one_stream) records_->holds_work(who.key);
    auto key = who.id;
    return admit(std::move(who), std::move(key));
}

base::result<std::shared_ptr<session>> registry::open_throw_away(identity who) {
    who.id.clear();
    return admit(std::move(who), "\n" + std::to_string(next_throw_away_++));
}

base::result<std::shared_ptr<session>> registry::admit(identity who, std::string key) {
    if (sessions_.size() >= bounds_.max_sessions && !let_a_copy_go()) {
        return base::fault(
            base::errc::too_many,
            "this gateway has " + std::to_string(sessions_.size()) +
                " sessions, its limit (limits.sessions); try again later",
            503
        );
    }
    // What has a record is bounded over all replicas, by the roster: records::create says.
    bool bounded_there = shared() && !who.key.empty();
    auto held = per_key_.find(who.principal);
    if (held != per_key_.end() && held->second >= bounds_.sessions_per_key &&
        !make_room_for(who.principal) && !bounded_there) {
        return base::fault(
            base::errc::too_many,
            "this key has " + std::to_string(held->second) +
                " sessions, its limit (limits.sessions_per_key); end some with DELETE",
            429
        );
    }
    auto made =
        std::make_shared<session>(tasks_.get_executor(), std::move(who), bounds_, counters_);
    if (records_ != nullptr) made->seal_with(*records_);
    if (shared() && !made->who().key.empty()) {
        made->be_kept(*records_);
        if (make_attachment_) made->attach(make_attachment_(*made));
    }
    sessions_.emplace(key, made);
    if (!made->who().key.empty()) by_key_[made->who().key] = made;
    ++per_key_[made->who().principal];
    auto job = run(made, std::move(key));
    tasks_.spawn(std::move(job));
    return made;
}

void registry::end_soon(std::shared_ptr<session> s) {
    if (!shared()) {
        s->end();
        return;
    }
    auto job = end_quietly(std::move(s));
    chores_.spawn(std::move(job));
}

aio::task<> registry::end_quietly(std::shared_ptr<session> s) {
    co_await aio::keep_running_when_cancelled();
    auto ended = co_await end(s);
    if (!ended) s->end_here();
}

// The session itself goes on: whatever replica it comes to next takes it up.
bool registry::let_a_copy_go() {
    if (!shared() || !records_->store().how().up) return false;
    std::shared_ptr<session> longest;
    for (auto& [key, s] : sessions_) {
        bool stays = s->who().key.empty() || !s->who().home.empty() || s->who().one_stream;
        if (stays || s->is_busy() || s->is_ending()) continue;
        bool just_used = aio::clock::now() - s->last_used() < on_its_way;
        if (just_used && s.use_count() > held_at_rest) continue;
        if (!longest || s->last_used() < longest->last_used()) longest = s;
    }
    if (!longest) return false;
    longest->end_here();
    return true;
}

// Of a session that other replicas may be using only the copy that is here goes; none that has
// something of its own here, which would end with it.
bool registry::make_room_for(std::string_view principal) {
    session* longest = nullptr;
    auto latest = aio::clock::now() - idle_enough;
    for (auto& [key, s] : sessions_) {
        bool candidate = s->who().principal == principal && !s->is_busy() && !s->is_ending();
        bool stays = shared() && (s->who().key.empty() || !s->who().home.empty());
        if (!candidate || stays || s->last_used() > latest) continue;
        latest = s->last_used();
        longest = s.get();
    }
    if (longest == nullptr) return false;
    if (shared())
        longest->end_here();
    else
        longest->end();
    return true;
}

std::shared_ptr<session> registry::find(std::string_view id, std::string_view principal) {
    auto found = find_copy(id, principal);
    if (!found || found->is_doubtful) return nullptr;
    bool at_home = shared() && !found->who().home.empty();
    if (at_home && may_have_lost_homes_ && may_have_lost_homes_()) return nullptr;
    if (is_past(found->who())) {
        if (!shared()) found->end(); // else adopt() ends it for all
        return nullptr;
    }
    found->touch();
    return found;
}

std::shared_ptr<session>
registry::find_copy(std::string_view id, std::string_view principal) const {
    auto it = sessions_.find(std::string(id));
    bool known = it != sessions_.end() && !it->second->is_ending();
    return known && it->second->who().principal == principal ? it->second : nullptr;
}

bool registry::is_past(const identity& who) const {
    return bounds_.max_age.count() > 0 && is_older(who, bounds_.max_age);
}

std::shared_ptr<session> registry::by_key(std::string_view key) const {
    auto it = by_key_.find(std::string(key));
    return it == by_key_.end() ? nullptr : it->second.lock();
}

aio::task<> registry::run(std::shared_ptr<session> s, std::string key) {
    co_await aio::keep_running_when_cancelled();
    co_await s->live();
    sessions_.erase(key);
    if (by_key(s->who().key) == s) by_key_.erase(s->who().key);
    auto it = per_key_.find(s->who().principal);
    if (it != per_key_.end() && --it->second == 0) per_key_.erase(it);
}

std::vector<std::shared_ptr<session>> registry::all() const {
    std::vector<std::shared_ptr<session>> found;
    found.reserve(sessions_.size());
    for (const auto& [id, s] : sessions_)
        found.push_back(s);
    return found;
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
    for (auto& s : all()) {
        bool goes_on = shared() && !s->who().key.empty() && !s->who().one_stream;
        if (goes_on)
            s->end_here();
        else
            s->end();
    }
    chores_.stop();
    co_await chores_.join();
    tasks_.stop();
    co_await tasks_.join();
}

} // namespace sluice::session
