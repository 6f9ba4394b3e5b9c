#include "session/tail.hpp"

#include <limits>

namespace sluice::session {

namespace {

constexpr std::size_t bytes_per_read = 512 * 1024;

} // namespace

tail::tail(aio::executor ex, records& kept, std::string key)
    : kept_(kept), key_(std::move(key)), grown_(ex) {
    kept_.follow(key_, grown_);
}

tail::~tail() {
    kept_.unfollow(key_, grown_);
}

std::string_view tail::fact(std::string_view name) const {
    for (const auto& [field, value] : facts_) {
        if (field == name) return value;
    }
    return {};
}

aio::task<base::result<bool>> tail::begin(std::shared_ptr<stream> into, std::uint64_t position) {
    // Nothing but the record, to know where the log ends.
    auto now = co_await kept_.store().read_log(
        key_, std::numeric_limits<std::uint64_t>::max(), bytes_per_read
    );
    if (!now) co_return now.error();
    into_ = std::move(into);
    if (!*now) co_return false; // the standing stream's: the first note will make it
    position_ = std::min(position, (*now)->last);
    into_->begin_behind(position_);
    auto found = co_await read();
    co_return found;
}

aio::task<base::result<bool>> tail::read() {
    for (;;) {
        auto page = co_await kept_.store().read_log(key_, position_, bytes_per_read);
        if (!page) co_return page.error();
        if (!*page) co_return false;
        auto& got = **page;
        epoch_ = got.epoch;
        owner_ = std::move(got.owner);
        facts_ = std::move(got.record);
        if (got.last < position_) {
            // Its life was over while nothing was said, and what is said now has made a new one.
            position_ = 0;
            into_->begin_anew();
            continue;
        }
        for (auto& entry : got.entries) {
            position_ = entry.position;
            into_->push_copy(event_of(std::move(entry)));
        }
        if (got.more) continue;
        auto how = ending_in(fact(ended_field));
        if (how != ending::none) {
            ended_ = true;
            into_->end(how);
        }
        co_return true;
    }
}

aio::task<base::result<void>> tail::pull(aio::instant until) {
    if (ended_) co_return base::result<void>();
    // Also without a word: one may have been missed.
    [[maybe_unused]] bool woken = co_await grown_.wait(until);
    auto found = co_await read();
    if (!found) co_return found.error();
    if (!*found) co_return base::fault(base::errc::not_found, "the stream's log is gone");
    co_return base::result<void>();
}

} // namespace sluice::session
