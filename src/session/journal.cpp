#include "session/journal.hpp"

#include "aio/nursery.hpp"
#include "aio/within.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <utility>

namespace sluice::session {

namespace {

// By event_kind. Finals and questions are the kinds that a log keeps whatever its bounds.
constexpr std::string_view kinds = "nqpfz";
constexpr std::string_view more = "more";

constexpr auto try_again = std::chrono::milliseconds(250);
// How long a writer goes on trying when the stream it writes for is gone.
constexpr auto last_tries = std::chrono::seconds(30);

} // namespace

state::log_entry entry_of(const event& e) {
    state::log_entry out;
    out.position = e.position;
    out.kind = kinds[static_cast<std::size_t>(e.kind)];
    out.bytes = e.kind == event_kind::pause ? std::to_string(e.retry_ms) : e.bytes;
    return out;
}

event event_of(state::log_entry entry) {
    event out;
    out.position = entry.position;
    auto kind = kinds.find(entry.kind);
    out.kind = kind == kinds.npos ? event_kind::note : static_cast<event_kind>(kind);
    if (out.kind == event_kind::pause) {
        out.retry_ms = static_cast<std::uint32_t>(base::parse_unsigned(entry.bytes).value_or(0));
    } else {
        out.bytes = std::move(entry.bytes);
    }
    return out;
}

std::string_view word_for(ending how) {
    switch (how) {
    case ending::none:
        return "";
    case ending::finished:
        return "finished";
    case ending::cancelled:
        return "cancelled";
    case ending::session_ended:
        return "session_ended";
    }
    return "";
}

ending ending_in(std::string_view word) {
    for (auto how : {ending::finished, ending::cancelled, ending::session_ended}) {
        if (word == word_for(how)) return how;
    }
    return ending::none;
}

struct journal::desk {
    desk(aio::executor on, state::store& to, journal_place place)
        : ex(on), store(to), at(std::move(place)) {}

    aio::executor ex;
    state::store& store;
    journal_place at;
    std::uint64_t epoch = 0;
    bool opened = false; // epoch counts
    bool fenced = false;
    bool writing = false;
    bool renew = false;
    state::log_append pending;
    aio::instant give_up = aio::never;
    std::function<void()> tell_fenced;
    std::list<aio::signal_flag> waiting; // for the writer to have nothing left

    bool has_work() const {
        return !fenced && opened && (renew || !pending.entries.empty() || !pending.set.empty());
    }
    void end_fenced() {
        fenced = true;
        pending = {};
        if (tell_fenced) tell_fenced();
    }
    // While nothing can be written the oldest leave, as they would leave the log.
    void bound() {
        auto& kept = at.bounds.kept_kinds;
        while (pending.entries.size() > at.bounds.entries) {
            auto oldest =
                std::find_if(pending.entries.begin(), pending.entries.end(), [&](const auto& e) {
                    return kept.find(e.kind) == kept.npos;
                });
            if (oldest == pending.entries.end()) break;
            pending.entries.erase(oldest);
            // Of any other log this is the copy of a stream that counts its own.
            if (epoch == state::anyone && at.dropped != nullptr) ++*at.dropped;
        }
    }
    state::log_append take() {
        auto what = std::exchange(pending, {});
        renew = false;
        what.key = at.key;
        what.epoch = epoch;
        what.bounds = at.bounds;
        what.ttl = at.ttl;
        what.channel = at.key;
        what.word = more;
        return what;
    }
    // What could not be written stands before what came meanwhile.
    void put_back(state::log_append what) {
        auto newer = std::exchange(pending.entries, std::move(what.entries));
        for (auto& e : newer)
            pending.entries.push_back(std::move(e));
        for (auto& old : what.set) {
            bool newer_stands =
                std::any_of(pending.set.begin(), pending.set.end(), [&](const auto& one) {
                    return one.first == old.first;
                });
            if (!newer_stands) pending.set.push_back(std::move(old));
        }
        renew = true;
        bound();
    }
};

journal::journal(launcher launch, aio::executor ex, state::store& store, journal_place at)
    : launch_(std::move(launch)), desk_(std::make_shared<desk>(ex, store, std::move(at))) {}

journal::~journal() {
    desk_->tell_fenced = {};
    desk_->give_up = aio::clock::now() + last_tries;
    if (!desk_->opened) desk_->pending = {};
}

bool journal::is_fenced() const {
    return desk_->fenced;
}

void journal::on_fenced(std::function<void()> tell) {
    desk_->tell_fenced = std::move(tell);
}

aio::task<base::result<void>>
journal::open(const std::vector<event>& so_far, state::fields record, ending how) {
    auto d = desk_;
    for (const auto& e : so_far)
        d->pending.entries.push_back(entry_of(e));
    // With the entries, never before: a log that has ended is read as one that has them all.
    if (how != ending::none) d->pending.set.emplace_back(ended_field, word_for(how));
    auto made = co_await d->store.open_log(d->at.key, d->at.owner, std::move(record), d->at.ttl);
    // An attempt of before whose answer was lost: the handle is nobody else's.
    if (!made && made.error().code == base::errc::conflict)
        made = co_await d->store.adopt_log(d->at.key, 1, d->at.owner);
    if (!made) co_return made.error();
    d->epoch = *made;
    d->opened = true;
    bool there = co_await secure(aio::clock::now() + std::chrono::seconds(1));
    if (!there) co_return base::fault(base::errc::unreachable, "the store is away");
    co_return base::result<void>();
}

aio::task<base::result<void>> journal::take_over(std::uint64_t epoch) {
    auto d = desk_;
    auto taken = co_await d->store.adopt_log(d->at.key, epoch, d->at.owner);
    if (!taken) co_return taken.error();
    d->epoch = *taken;
    d->opened = true;
    co_return base::result<void>();
}

void journal::share() {
    desk_->epoch = state::anyone;
    desk_->opened = true;
}

void journal::write_soon() {
    if (desk_->writing || !desk_->has_work()) return;
    desk_->writing = true;
    launch_(write_out(desk_));
}

aio::task<> journal::write_out(std::shared_ptr<desk> d) {
    co_await aio::keep_running_when_cancelled();
    while (d->has_work()) {
        auto what = d->take();
        auto sent = what;
        auto done = co_await d->store.append(std::move(sent));
        if (done) continue;
        auto code = done.error().code;
        if (code == base::errc::fenced) {
            d->end_fenced();
            break;
        }
        // Gone with its time, or larger than the store takes: nobody can read it any more.
        bool lost = code == base::errc::not_found || code == base::errc::too_large;
        if (lost) continue;
        d->put_back(std::move(what));
        co_await aio::pause(try_again);
        auto state = co_await aio::asio::this_coro::cancellation_state;
        bool stopped = state.cancelled() != aio::asio::cancellation_type::none;
        if (stopped || aio::clock::now() >= d->give_up) break;
    }
    d->writing = false;
    for (auto& one : d->waiting)
        one.wake();
}

void journal::wrote(const event& e, state::fields with) {
    if (desk_->fenced) return;
    desk_->pending.entries.push_back(entry_of(e));
    desk_->bound();
    set(std::move(with));
}

void journal::set(state::fields record) {
    for (auto& fact : record) {
        std::erase_if(desk_->pending.set, [&](const auto& old) { return old.first == fact.first; });
        desk_->pending.set.push_back(std::move(fact));
    }
    write_soon();
}

void journal::ended(ending how) {
    state::fields record;
    record.emplace_back(ended_field, word_for(how));
    set(std::move(record));
}

void journal::keep_alive() {
    desk_->renew = true;
    write_soon();
}

aio::task<bool> journal::secure(aio::instant until) {
    auto d = desk_;
    write_soon();
    if (!d->writing) co_return !d->has_work() && !d->fenced;
    d->waiting.emplace_back(d->ex);
    auto mine = std::prev(d->waiting.end());
    bool woken = true;
    while (d->writing && woken)
        woken = co_await mine->wait(until);
    d->waiting.erase(mine);
    co_return !d->writing && !d->has_work() && !d->fenced;
}

} // namespace sluice::session
