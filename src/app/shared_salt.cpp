// Without salt_keys the replicas of one store share a random salt for the ids of sessions, events
// and questions, and for their own signatures (decision 21).
#include "aio/within.hpp"
#include "app/runtime.hpp"
#include "sys/log.hpp"
#include "sys/random.hpp"

#include <algorithm>

namespace sluice::app {

namespace {

constexpr auto life = std::chrono::hours(24 * 30);
constexpr auto again = std::chrono::milliseconds(200);
// A store that was emptied has another salt as soon as one replica starts: until the others have
// seen it, what they seal cannot be opened there.
constexpr auto looked_at = std::chrono::seconds(5);
constexpr std::size_t most_salts = 4;

} // namespace

// The one in force seals. Those before it still open what was sealed under them.
void runtime::adopt_salt(std::string newest) {
    if (!shared_salts_.empty() && shared_salts_.front() == newest) return;
    if (!shared_salts_.empty())
        sys::log_line(sys::log_level::warn, "salt")
            .field(
                "text",
                "the store has another salt than before, as after it was emptied: it "
                "seals from now on, the one before still opens"
            );
    std::erase(shared_salts_, newest);
    shared_salts_.insert(shared_salts_.begin(), std::move(newest));
    if (shared_salts_.size() > most_salts) shared_salts_.resize(most_salts);
    std::vector<base::secret> salts;
    salts.reserve(shared_salts_.size());
    for (const auto& one : shared_salts_)
        salts.emplace_back(one);
    ids_ = sys::sealer(salts);
    announce_configuration();
}

// The first replica's random salt is everybody's; until it is known no session can be opened. The
// one in force is offered again should the store lose it.
aio::task<> runtime::share_salt() {
    co_await aio::keep_running_when_cancelled();
    auto mine = sys::random_id(32);
    while (!chores_.stopping()) {
        auto offered = shared_salts_.empty() ? mine : shared_salts_.front();
        auto other = co_await store_->put_new("salt", offered, life);
        aio::duration rest = again;
        if (other) {
            adopt_salt(*other ? **other : offered);
            [[maybe_unused]] auto kept = co_await store_->keep("salt", life);
            rest = looked_at;
        }
        co_await aio::pause(rest);
    }
}

} // namespace sluice::app
