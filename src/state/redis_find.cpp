#include "state/redis_find.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace sluice::state {

using base::result;

namespace {

aio::task<result<redis_address>> always(redis_address at) {
    co_return at;
}

using sentinels = std::shared_ptr<std::vector<redis_address>>;

aio::task<result<redis_address>>
ask_one(redis_surroundings& around, redis_address sentinel, aio::instant until) {
    redis_link link(around);
    auto opened = co_await link.open_sentinel(std::move(sentinel), until);
    if (!opened) co_return opened.error();
    std::vector<redis_words> words;
    words.push_back({"SENTINEL", "get-master-addr-by-name", around.settings.master});
    auto replies = co_await link.ask(std::move(words), until);
    if (!replies) co_return replies.error();
    const auto& reply = replies->front();
    if (reply.is_error()) co_return fault_of(reply);
    auto port = reply.items.size() == 2 ? base::parse_unsigned(reply.items[1].text) : std::nullopt;
    if (!port || *port == 0 || *port > 65535)
        co_return base::fault(base::errc::unreachable, "the sentinel knows no such master");
    co_return redis_address{reply.items[0].text, static_cast<std::uint16_t>(*port)};
}

aio::task<result<redis_address>>
ask_all(redis_surroundings& around, sentinels known, aio::instant until) {
    // Another search may reorder them meanwhile.
    auto asked = *known; // NOLINT(performance-unnecessary-copy-initialization)
    base::fault last(base::errc::unreachable, "there is no sentinel");
    for (std::size_t i = 0; i < asked.size(); ++i) {
        // A silent one leaves time for the next.
        auto now = aio::clock::now();
        auto share = (until - now) / static_cast<int>(asked.size() - i);
        auto got = co_await ask_one(around, asked[i], now + share);
        if (got) {
            auto it = std::find(known->begin(), known->end(), asked[i]);
            std::rotate(known->begin(), it, it + 1);
            co_return got;
        }
        last = std::move(got.error());
        if (last.code == base::errc::cancelled) break;
    }
    if (last.code == base::errc::cancelled) co_return last;
    co_return base::fault(base::errc::unreachable, "no sentinel helps: " + last.message);
}

} // namespace

redis_finder find_always(redis_surroundings& around) {
    return [&around](aio::instant) { return always(around.settings.at); };
}

redis_finder find_master(redis_surroundings& around) {
    auto known = std::make_shared<std::vector<redis_address>>(around.settings.sentinels);
    return [&around, known](aio::instant until) { return ask_all(around, known, until); };
}

} // namespace sluice::state
