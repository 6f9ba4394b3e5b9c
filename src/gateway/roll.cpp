#include "gateway/roll.hpp"

#include "aio/within.hpp"
#include "gateway/replicas.hpp"

#include <algorithm>
#include <utility>

namespace sluice::gateway {

namespace {
constexpr auto again = std::chrono::milliseconds(250); // where the store is away
}

roll::roll(aio::loop& loop, state::store& store, replicas& whose, const session::registry& sessions)
    : store_(store), whose_(whose), sessions_(sessions), wake_(loop.get_executor()),
      keeper_(loop.get_executor(), "gateway") {}

aio::duration roll::pace() const {
    return whose_.lease() / 3;
}

// It must be there when the lease is over, and for as long as there is a log to go on with.
std::chrono::milliseconds roll::life() const {
    return 2 * whose_.lease() + sessions_.bounds().resume_window;
}

void roll::add(const std::string& session) {
    auto [it, is_new] = listed_.try_emplace(session);
    it->second.added = aio::clock::now();
    if (is_new) wake_.wake();
}

void roll::start() {
    if (whose_.alone()) return;
    auto job = keep();
    keeper_.spawn(std::move(job));
}

aio::task<> roll::shut_down() {
    keeper_.stop();
    co_await keeper_.join();
    listed_.clear();
    // What cannot be erased now is found with nothing to be done for it.
    [[maybe_unused]] auto erased = co_await erase();
}

aio::task<> roll::keep() {
    co_await aio::keep_running_when_cancelled();
    bool done = true;
    while (!keeper_.stopping()) {
        auto next = aio::clock::now() + (done ? pace() : aio::duration(again));
        [[maybe_unused]] auto woken = co_await wake_.wait(next);
        if (keeper_.stopping()) break;
        let_go_of_finished();
        done = co_await write_down();
    }
}

// Not at once: the next call of a session comes soon, and a call is announced before its stream is
// kept.
void roll::let_go_of_finished() {
    auto before = aio::clock::now() - pace();
    std::erase_if(listed_, [&](const auto& one) {
        if (one.second.added > before) return false;
        auto s = sessions_.by_key(one.first);
        if (s && s->holds_work()) return false;
        if (one.second.written) leaving_.push_back(one.first);
        return true;
    });
}

aio::task<bool> roll::write_down() {
    if (listed_.empty()) {
        bool erased = co_await erase();
        co_return erased;
    }
    bool due = !stands_ || aio::clock::now() - renewed_ >= pace();
    auto sent = aio::clock::now();
    if (stands_ && due) {
        auto kept = co_await store_.keep(name_of(whose_.self()), life());
        if (!kept) co_return false;
        stands_ = *kept;
    }
    bool written = stands_ && co_await write_changes();
    if (!stands_) written = co_await write_whole();
    if (!written || !due) co_return written;
    auto on = co_await store_.enlist(std::string(all), whose_.self(), life(), 0);
    if (!on) co_return false;
    renewed_ = sent;
    co_return true;
}

// Who holds an entry looks after it: that is this replica, until it is dead.
state::fields roll::unwritten() const {
    state::fields out;
    for (const auto& [session, e] : listed_) {
        if (!e.written) out.emplace_back(session, whose_.self());
    }
    return out;
}

void roll::mark_written(const state::fields& which) {
    for (const auto& [session, holder] : which) {
        auto it = listed_.find(session);
        if (it != listed_.end()) it->second.written = true;
    }
}

aio::task<bool> roll::write_whole() {
    for (auto& [session, e] : listed_)
        e.written = false;
    leaving_.clear();
    auto everything = unwritten();
    auto name = name_of(whose_.self());
    auto made = co_await store_.create(name, everything, life());
    // An attempt whose answer was lost.
    if (made && !*made) made = co_await store_.set(std::move(name), everything);
    stands_ = made && *made;
    if (stands_) mark_written(everything);
    co_return stands_;
}

aio::task<bool> roll::write_changes() {
    auto news = unwritten();
    if (!news.empty()) {
        auto set = co_await store_.set(name_of(whose_.self()), news);
        if (!set) co_return false;
        stands_ = *set;
        if (!stands_) co_return false;
        mark_written(news);
    }
    while (!leaving_.empty()) {
        auto session = leaving_.back();
        auto back = listed_.find(session);
        if (back == listed_.end()) {
            auto gone = co_await store_.unset(name_of(whose_.self()), session);
            if (!gone) co_return false;
        }
        std::erase(leaving_, session);
        back = listed_.find(session); // it may have come back meanwhile
        if (back != listed_.end()) back->second.written = false;
    }
    co_return true;
}

aio::task<bool> roll::erase() {
    if (!stands_) co_return true;
    auto gone = co_await store_.erase(name_of(whose_.self()));
    if (!gone) co_return false;
    stands_ = false;
    leaving_.clear();
    for (auto& [session, e] : listed_) // come meanwhile
        e.written = false;
    auto left = co_await store_.leave(std::string(all), whose_.self());
    co_return left.ok() && listed_.empty();
}

} // namespace sluice::gateway
