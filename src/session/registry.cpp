#include "session/registry.hpp"

#include "aio/within.hpp"
#include "base/text.hpp"
#include "sys/clock.hpp"
#include "sys/random.hpp"

namespace sluice::session {

namespace {

// A session used less than this ago is somebody's; it is never ended to make room.
constexpr auto idle_enough = std::chrono::minutes(1);
// What holds a session that no request is at: the list of sessions, and its own task. Who still
// holds one that was not used for so long is no request on its way to a call.
constexpr long held_at_rest = 2;
constexpr auto on_its_way = std::chrono::seconds(3);
// How late a record may learn that its session was used.
constexpr auto longest_tick = std::chrono::seconds(30);

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

aio::task<bool> registry::make_room_in_store(std::string principal) {
    auto oldest = co_await records_->unused_longest(principal, idle_enough);
    if (!oldest || !*oldest) co_return false;
    auto who = std::move(**oldest);
    // Taken up first, so that its upstream sessions are closed too. Not one whose home is another
    // replica, which hears of the end, nor one whose record has gone before its place on the
    // roster.
    auto taken = co_await adopt(who.id, principal);
    if (taken && taken->here) {
        if (taken->here->is_busy()) co_return false;
        auto ended = co_await end(taken->here);
        co_return ended.ok();
    }
    auto ended = co_await records_->end(std::move(who));
    co_return ended.ok();
}

std::shared_ptr<session> registry::find(std::string_view id, std::string_view principal) {
    auto it = sessions_.find(std::string(id));
    if (it == sessions_.end() || it->second->is_ending()) return nullptr;
    if (it->second->who().principal != principal || it->second->is_doubtful) return nullptr;
    bool at_home = shared() && !it->second->who().home.empty();
    if (at_home && may_have_lost_homes_ && may_have_lost_homes_()) return nullptr;
    if (is_past(it->second->who())) {
        if (!shared()) it->second->end(); // else adopt() ends it for all
        return nullptr;
    }
    it->second->touch();
    return it->second;
}

bool registry::is_past(const identity& who) const {
    return bounds_.max_age.count() > 0 && is_older(who, bounds_.max_age);
}

std::shared_ptr<session> registry::by_key(std::string_view key) const {
    auto it = by_key_.find(std::string(key));
    return it == by_key_.end() ? nullptr : it->second.lock();
}

aio::task<base::result<registry::adopted>> registry::adopt(std::string id, std::string principal) {
    adopted out;
    if (!shared()) co_return out;
    auto known = co_await records_->find(id);
    if (!known) co_return known.error();
    auto it = sessions_.find(id);
    auto present = it == sessions_.end() ? nullptr : it->second;
    if (!*known) {
        if (present) present->end_here();
        co_return out;
    }
    auto& who = **known;
    if (who.principal != principal) co_return out;
    // This copy is being let go of, not the session: another replica serves it, or this one soon.
    if (tasks_.stopping() || (present && present->is_ending()))
        co_return base::fault(base::errc::unreachable, "the session is moving to another replica");
    if (is_past(who)) {
        co_await end_past(present, std::move(who));
        co_return out;
    }
    if (present && has_lost_home(*present, who)) {
        present->end_here();
        present.reset();
    }
    if (present) {
        present->is_doubtful = false;
        present->touch();
        out.here = std::move(present);
        co_return out;
    }
    bool elsewhere = !who.home.empty() && who.home != records_->replica();
    if (elsewhere) {
        out.home = who.home;
        out.one_stream = who.one_stream;
        co_return out;
    }
    if (who.one_stream) co_return out; // its stream was here, and is gone
    auto made = admit(std::move(who), std::move(id));
    if (!made) co_return made.error();
    (*made)->last_kept = {}; // this request is one that its record does not know of
    ++numbers_.adopted;
    out.here = std::move(*made);
    co_return out;
}

// Taken up first where it can be, so that its upstream sessions are closed too. While the store is
// away it stays, and is as little found as later.
aio::task<> registry::end_past(std::shared_ptr<session> here, identity who) {
    bool lives_elsewhere = !who.home.empty() && who.home != records_->replica();
    if (!here && !lives_elsewhere && !who.one_stream) {
        auto id = who.id;
        auto made = admit(who, std::move(id));
        if (made) here = std::move(*made);
    }
    if (here) [[maybe_unused]]
        auto ended = co_await end(std::move(here));
    else [[maybe_unused]]
        auto gone = co_await records_->end(std::move(who));
}

aio::task<base::result<void>> registry::end(std::shared_ptr<session> s) {
    if (!shared() || s->who().key.empty()) {
        s->end();
        co_return base::result<void>();
    }
    auto ended = co_await records_->end(s->who());
    if (!ended) co_return ended.error();
    if (*ended) {
        s->end(std::move(**ended));
    } else {
        s->end_here();
    }
    co_return base::result<void>();
}

void registry::heard(std::string_view channel, std::string_view word) {
    if (records_ == nullptr) return;
    if (channel != session_channel) {
        records_->log_grew(channel);
        return;
    }
    auto parts = base::split(word, ' ');
    if (parts.size() < 2) return;
    auto s = by_key(parts[1]);
    if (!s) return;
    if (parts[0] == "ended") {
        if (s->is_ending()) return;
        ++numbers_.ended_elsewhere;
        s->end_here();
    } else if (parts[0] == "level" && parts.size() == 3) {
        s->set_log_level(std::string(parts[2]));
    } else if (parts[0] == "watch" && parts.size() == 3) {
        if (s->held() != nullptr) s->held()->others_say(parts[2]);
    } else if (parts.size() == 4) {
        // "reader KEY HANDLE WHO", "left KEY HANDLE WHO"
        auto stream = parts[3] == records_->replica() ? nullptr : s->find_stream(parts[2]);
        if (stream) stream->read_elsewhere(parts[0] == "reader");
    }
}

void registry::doubt_all() {
    if (records_ != nullptr) records_->all_grew();
    for (auto& [id, s] : sessions_)
        s->is_doubtful = !s->who().key.empty();
}

bool registry::has_lost_home(const session& s, const identity& recorded) const {
    const auto& mine = records_->replica();
    return s.who().home == mine && !recorded.home.empty() && recorded.home != mine;
}

void registry::look_at_homes() {
    if (!shared()) return;
    for (const auto& s : all()) {
        if (!s->who().home.empty()) s->is_doubtful = true;
    }
    auto job = leave_lost_homes();
    chores_.spawn(std::move(job));
}

aio::task<> registry::leave_lost_homes() {
    co_await aio::keep_running_when_cancelled();
    for (const auto& s : all()) {
        bool counts = s->who().home == records_->replica() && !s->is_ending();
        if (!counts || chores_.stopping()) continue;
        auto known = co_await records_->find(s->who().id);
        if (!known) continue; // in doubt until its next use
        if (!*known || has_lost_home(*s, **known))
            s->end_here();
        else
            s->is_doubtful = false;
    }
}

void registry::start_keeping() {
    if (!shared()) return;
    auto job = keep_all();
    chores_.spawn(std::move(job));
}

aio::task<> registry::keep_all() {
    co_await aio::keep_running_when_cancelled();
    while (!chores_.stopping()) {
        auto tick = std::min<aio::duration>(bounds_.idle_ttl / 8, longest_tick);
        if (bounds_.max_age.count() > 0) tick = std::min<aio::duration>(tick, bounds_.max_age / 8);
        co_await aio::pause(tick);
        std::vector<std::weak_ptr<session>> each; // held one at a time
        each.reserve(by_key_.size());
        for (const auto& [key, listed] : by_key_)
            each.push_back(listed);
        for (const auto& listed : each) {
            if (chores_.stopping()) break;
            auto s = listed.lock();
            if (s && !s->is_ending()) co_await keep_one(std::move(s));
        }
    }
}

aio::task<> registry::keep_one(std::shared_ptr<session> s) {
    if (is_past(s->who())) {
        [[maybe_unused]] auto over = co_await end(s);
        co_return;
    }
    auto now = aio::clock::now();
    if (s->is_busy()) s->touch();
    if (s->last_used() > s->last_kept) {
        auto kept = co_await records_->keep(s->who());
        if (kept) s->last_kept = now;
        // Gone although nobody said so: a word was missed, or the store was emptied.
        if (kept && !*kept) s->end_here();
        co_return;
    }
    if (now < s->last_used() + bounds_.idle_ttl) co_return;
    auto elsewhere = co_await records_->is_used_elsewhere(s->who(), now - s->last_kept);
    if (!elsewhere || s->is_busy()) co_return;
    if (*elsewhere) {
        s->end_here();
        co_return;
    }
    [[maybe_unused]] auto ended = co_await end(s);
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
