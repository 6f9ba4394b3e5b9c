#include "gateway/replicas.hpp"

#include "aio/within.hpp"
#include "sys/log.hpp"
#include "sys/random.hpp"

#include <algorithm>

namespace sluice::gateway {

namespace {

constexpr auto believed_for = std::chrono::seconds(1);
constexpr std::size_t most_sightings = 256;
constexpr std::size_t most_former = 16;
constexpr std::string_view roster = "replicas";

} // namespace

replicas::replicas(aio::loop& loop, state::store& store, peer_settings from)
    : store_(store), from_(std::move(from)), self_(sys::random_id()),
      keeper_(loop.get_executor(), "gateway") {}

bool replicas::is_me(std::string_view id) const {
    return id == self_ || std::find(former_.begin(), former_.end(), id) != former_.end();
}

bool replicas::holds_lease() const {
    return alone() || (leased_ && aio::clock::now() - renewed_ < from_.lease);
}

void replicas::on_renamed(std::function<void(const std::string&)> tell) {
    renamed_ = std::move(tell);
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
    auto left = co_await store_.leave(std::string(roster), self_ + " " + from_.address);
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
        // Away or not yet there: sooner than the next turn, for others count our time.
        auto wait = renewed ? pace : std::min(pace, std::chrono::milliseconds(250));
        co_await aio::pause(wait);
    }
}

// One turn: true when the lease is ours for a whole lease from now.
aio::task<bool> replicas::renew() {
    auto sent = aio::clock::now();
    if (leased_) {
        auto kept = co_await store_.keep(lease_key(self_), from_.lease);
        if (!kept) co_return false;
        if (!*kept) rename();
    }
    if (!leased_) {
        sent = aio::clock::now();
        auto stands = co_await store_.put_new(lease_key(self_), from_.address, from_.lease);
        if (!stands) co_return false;
        leased_ = true;
    }
    auto member = self_ + " " + from_.address;
    auto on = co_await store_.enlist(std::string(roster), std::move(member), from_.lease, 0);
    if (!on) co_return false;
    renewed_ = sent;
    co_return true;
}

void replicas::rename() {
    auto before = std::exchange(self_, sys::random_id());
    leased_ = false;
    former_.push_back(before);
    if (former_.size() > most_former) former_.erase(former_.begin());
    sys::log_line(sys::log_level::warn, "replica")
        .field("id", self_)
        .field("before", before)
        .field("text", "the lease ran out; others may have taken over what was held");
    if (renamed_) renamed_(before);
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
    if (it != seen_.end() && it->second.until > aio::clock::now()) {
        address = it->second.address;
    } else {
        address = co_await look_up(std::move(id));
    }
    if (address && address->empty()) co_return base::fault(base::errc::not_found, gone);
    co_return address;
}

aio::task<base::result<std::vector<replica>>> replicas::others() {
    std::vector<replica> all;
    if (alone()) co_return all;
    auto listed = co_await store_.members(std::string(roster));
    if (!listed) co_return listed.error();
    for (const auto& member : *listed) {
        auto space = member.find(' ');
        if (space == std::string::npos) continue;
        auto id = member.substr(0, space);
        if (!is_me(id)) all.push_back({std::move(id), member.substr(space + 1)});
    }
    co_return all;
}

bool replicas::store_is_settled() const {
    auto store = store_.how();
    return store.up && aio::clock::now() - store.since >= from_.lease;
}

aio::task<bool> replicas::may_take_over(std::string id) {
    if (alone() || id == self_) co_return false;
    // Not from the memory of a second ago: another asks for this only once.
    auto address = co_await look_up(std::move(id));
    if (!address || !address->empty()) co_return false;
    auto store = store_.how();
    co_return store.up&& aio::clock::now() - store.since >= from_.lease;
}

} // namespace sluice::gateway
