// The half of the registry that has to do with the store: sessions taken up from their records,
// what other replicas say of them, homes, and keeping the records of those that are used.
// Decision 2.
#include "aio/within.hpp"
#include "base/text.hpp"
#include "session/registry.hpp"

namespace sluice::session {

namespace {

// How late a record may learn that its session was used.
constexpr auto longest_tick = std::chrono::seconds(30);

} // namespace

aio::task<bool> registry::make_room_in_store(std::string principal) {
    bool made = co_await end_unused(std::move(principal), idle_enough);
    co_return made;
}

// True when there was one.
aio::task<bool> registry::end_unused(std::string principal, aio::duration least) {
    auto oldest = co_await records_->unused_longest(std::move(principal), least);
    if (!oldest || !*oldest) co_return false;
    auto here = by_key((*oldest)->key);
    if (here && here->is_busy()) co_return false;
    auto ended = co_await end(std::move(**oldest));
    co_return ended.ok();
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
        // While the store is away it stays, and is as little found as later.
        [[maybe_unused]] auto over = co_await end(std::move(who));
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

// Taken up first where it can be: whoever erases a record ends the upstream sessions in it, and the
// other replicas, its home among them, only hear of it. Its record may have gone before its place
// on the roster.
aio::task<base::result<void>> registry::end(identity who) {
    std::shared_ptr<session> here;
    auto it = sessions_.find(who.id);
    if (it != sessions_.end()) {
        here = it->second;
    } else if (shared() && !who.id.empty()) {
        auto made = admit(who, who.id);
        if (made) here = std::move(*made);
    }
    if (here) {
        auto ended = co_await end(std::move(here));
        co_return ended;
    }
    if (!shared()) co_return base::result<void>();
    auto gone = co_await records_->end(std::move(who));
    if (!gone) co_return gone.error();
    co_return base::result<void>();
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
    for (auto& [id, s] : sessions_) {
        s->is_doubtful = !s->who().key.empty();
        if (s->held() != nullptr) s->held()->others_say({});
    }
}

bool registry::has_lost_home(const session& s, const identity& recorded) const {
    const auto& mine = records_->replica();
    return s.who().home == mine && !recorded.home.empty() && recorded.home != mine;
}

void registry::look_at_homes() {
    if (!shared()) return;
    doubt_all();
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

void registry::start_keeping(principals whose) {
    if (!shared()) return;
    auto job = keep_all(std::move(whose));
    chores_.spawn(std::move(job));
}

aio::task<> registry::keep_all(principals whose) {
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
        auto all = whose();
        for (const auto& [principal, name] : all)
            co_await end_unwatched(principal, bounds_.idle_ttl + 2 * tick);
    }
}

// Those that no replica has a copy of any more: else that one would have ended it, and whoever uses
// a session says so in its record within a tick.
aio::task<> registry::end_unwatched(std::string principal, aio::duration idle) {
    bool another = true;
    while (another && !chores_.stopping())
        another = co_await end_unused(principal, idle);
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

} // namespace sluice::session
