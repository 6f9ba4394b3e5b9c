#include "gateway/replicas.hpp"

#include "aio/within.hpp"
#include "base/text.hpp"
#include "sys/log.hpp"
#include "sys/random.hpp"

#include <algorithm>
#include <utility>

namespace sluice::gateway {

namespace {

constexpr auto believed_for = std::chrono::seconds(1);
constexpr std::size_t most_sightings = 256;
// How long another replica may take to notice that the store is back, whatever the lease: the
// longest pause between its attempts to connect, and one turn of its renewal.
constexpr auto all_are_back = std::chrono::milliseconds(2'500);
constexpr auto give_back_again = std::chrono::seconds(1);
constexpr std::string_view roster = "replicas";

} // namespace

replicas::replicas(aio::loop& loop, state::store& store, peer_settings from)
    : store_(store), from_(std::move(from)), self_(sys::random_id()),
      keeper_(loop.get_executor(), "gateway") {}

bool replicas::holds_lease() const {
    return alone() || (leased_ && aio::clock::now() - renewed_ < from_.lease);
}

void replicas::now_runs(std::string configuration) {
    if (configuration == runs_) return;
    auto before = member();
    runs_ = std::move(configuration);
    if (alone() || !leased_) return;
    auto job = list_anew(std::move(before));
    keeper_.spawn(std::move(job));
}

// What cannot be said now is said with the next renewal, and what stands there leaves by itself.
aio::task<> replicas::list_anew(std::string before) {
    co_await aio::keep_running_when_cancelled();
    [[maybe_unused]] auto on =
        co_await store_.enlist(std::string(roster), member(), from_.lease, 0);
    [[maybe_unused]] auto left = co_await store_.leave(std::string(roster), std::move(before));
}

void replicas::give_back(std::string record, std::string field) {
    giving_back_[{record, field}] = ++turns_;
    auto job = give_back_until(std::move(record), std::move(field), turns_);
    keeper_.spawn(std::move(job));
}

aio::task<> replicas::give_back_until(std::string record, std::string field, std::uint64_t turn) {
    co_await aio::keep_running_when_cancelled();
    auto wanted = [&] {
        auto it = giving_back_.find({record, field});
        return it != giving_back_.end() && it->second == turn;
    };
    while (wanted()) {
        auto gone = co_await store_.set_if(record, field, self_, std::string());
        if (gone || keeper_.stopping()) break;
        co_await aio::pause(give_back_again);
    }
    if (wanted()) giving_back_.erase({record, field});
}

void replicas::start() {
    if (alone()) return;
    auto job = keep_lease();
    keeper_.spawn(std::move(job));
}

aio::task<> replicas::shut_down() {
    keeper_.stop();
    co_await keeper_.join();
    if (alone() || !leased_) co_return;
    leased_ = false;
    auto gone = co_await store_.erase(lease_key(self_));
    auto left = co_await store_.leave(std::string(roster), member());
    if (!gone || !left) {
        sys::log_line(sys::log_level::info, "replica")
            .field("id", self_)
            .field("text", "the lease could not be given back; it runs out by itself");
    }
}

aio::task<> replicas::keep_lease() {
    co_await aio::keep_running_when_cancelled();
    auto pace = from_.lease / 3;
    while (!keeper_.stopping()) {
        bool renewed = co_await renew();
        if (renewed && away_) back_ = aio::clock::now();
        away_ = !renewed;
        // Away or not yet there: sooner than the next turn, for others count our time.
        auto wait = renewed ? pace : std::min(pace, std::chrono::milliseconds(250));
        co_await aio::pause(wait);
    }
}

// One turn: true when the lease is ours for a whole lease from now. One that ran out is put again
// under the same id: nobody else ever has that id, and all that this process runs stays written
// under it, so that cancels, answers and resumes find it. What others took over in the meantime
// stays theirs: logs are fenced by their epoch, fields change only from the value that was read.
aio::task<bool> replicas::renew() {
    auto sent = aio::clock::now();
    if (leased_) {
        auto kept = co_await store_.keep(lease_key(self_), from_.lease);
        if (!kept) co_return false;
        leased_ = *kept;
        if (!leased_) {
            bool in_time = sent - renewed_ < from_.lease;
            sys::log_line(sys::log_level::warn, "replica")
                .field("id", self_)
                .field(
                    "text",
                    in_time ? "the store has lost the lease before its time, and perhaps whatever "
                              "else it held: each session is looked up at its next use"
                            : "the lease ran out; others may have taken over what was held"
                );
        }
    }
    if (!leased_) {
        sent = aio::clock::now();
        auto stands = co_await store_.put(lease_key(self_), from_.address, from_.lease);
        if (!stands) co_return false;
        leased_ = true;
        bool again = std::exchange(had_lease_, true);
        if (again && regained_) regained_();
    }
    auto on = co_await store_.enlist(std::string(roster), member(), from_.lease, 0);
    if (!on) co_return false;
    renewed_ = sent;
    co_return true;
}

aio::task<base::result<std::string>> replicas::look_up(std::string id) {
    auto got = co_await store_.get(lease_key(id));
    if (!got) co_return got.error();
    if (seen_.size() >= most_sightings) {
        std::erase_if(seen_, [](const auto& s) { return s.second.until <= aio::clock::now(); });
        if (seen_.size() >= most_sightings) seen_.clear();
    }
    seen_[id] = {got->value_or(std::string()), aio::clock::now() + believed_for};
    co_return std::move(*got).value_or(std::string());
}

aio::task<base::result<std::string>> replicas::find(std::string id) {
    constexpr const char* gone = "there is no such replica any more";
    if (is_me(id)) co_return from_.address;
    if (alone()) co_return base::fault(base::errc::not_found, gone);
    auto it = seen_.find(id);
    base::result<std::string> address;
    bool fresh = it != seen_.end() && it->second.until > aio::clock::now();
    // One that could not renew its lease comes back under the same id.
    if (fresh && (!it->second.address.empty() || !was_away())) {
        address = it->second.address;
    } else {
        address = co_await look_up(std::move(id));
    }
    if (!address || !address->empty()) co_return address;
    if (was_away())
        co_return base::fault(base::errc::unreachable, "the store has just come back; try again");
    co_return base::fault(base::errc::not_found, gone);
}

aio::task<base::result<std::vector<replica>>> replicas::others() {
    std::vector<replica> all;
    if (alone()) co_return all;
    auto listed = co_await store_.members(std::string(roster));
    if (!listed) co_return listed.error();
    for (const auto& one : *listed) {
        auto words = base::split(one, ' ');
        if (words.size() < 2 || is_me(words[0])) continue;
        std::string runs(words.size() > 2 ? words[2] : std::string_view());
        // Twice while it changes what it says of itself: never not at all.
        std::erase_if(all, [&](const auto& known) { return known.id == words[0]; });
        all.push_back({std::string(words[0]), std::string(words[1]), std::move(runs)});
    }
    co_return all;
}

aio::task<base::result<bool>> replicas::all_run(std::string configuration) {
    auto all = co_await others();
    if (!all) co_return all.error();
    co_return runs_ == configuration&& std::all_of(all->begin(), all->end(), [&](const auto& one) {
        return one.runs == configuration;
    });
}

aio::duration replicas::settling() const {
    return std::max<aio::duration>(from_.lease, all_are_back);
}

bool replicas::was_away() const {
    return away_ || aio::clock::now() - back_ < settling();
}

bool replicas::store_is_settled() const {
    auto store = store_.how();
    return store.up && aio::clock::now() - store.since >= settling();
}

aio::task<bool> replicas::may_take_over(std::string id) {
    if (alone() || id == self_) co_return false;
    // Not from the memory of a second ago: another asks for this only once.
    auto address = co_await look_up(std::move(id));
    if (!address || !address->empty()) co_return false;
    co_return store_is_settled() && !was_away();
}

} // namespace sluice::gateway
