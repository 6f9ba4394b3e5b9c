#include "base/text.hpp"
#include "state/redis_replies.hpp"
#include "state/redis_store.hpp"

#include <limits>

namespace sluice::state {

using base::result;

namespace {

// A position, or one of the scripts' words for a refusal.
result<std::uint64_t> as_number(const result<wire::resp_reply>& got) {
    if (!got) return got.error();
    if (got->number == -1) return base::fault(base::errc::not_found, "the log is gone");
    if (got->number < 0)
        return base::fault(base::errc::fenced, "another owner has taken the log over");
    return static_cast<std::uint64_t>(got->number);
}

std::uint64_t number_in(const wire::resp_reply& text) {
    return base::parse_unsigned(text.text).value_or(0);
}

base::fault odd() {
    return {base::errc::protocol, "the store answered something odd"};
}

} // namespace

aio::task<result<std::uint64_t>>
redis_store::open_log(std::string key, std::string owner, fields record, milliseconds ttl) {
    redis_words words{life(ttl), "l", std::move(owner)};
    add_fields(words, std::move(record));
    auto got = co_await run("open_log", scripts::create, std::move(key), std::move(words));
    if (!got) co_return got.error();
    if (got->number == 0) co_return base::fault(base::errc::conflict, "the log exists already");
    co_return 1;
}

redis_command redis_store::writing(log_append what) const {
    redis_words words{
        std::to_string(what.epoch),
        std::to_string(std::max<milliseconds::rep>(what.ttl.count(), 0)),
        std::to_string(unsaid_ttl.count()),
        std::to_string(what.bounds.entries),
        std::to_string(what.bounds.bytes),
        std::move(what.bounds.kept_kinds),
        what.channel.empty() ? std::string() : named(what.channel),
        std::move(what.word),
        std::to_string(what.set.size() * 2)
    };
    add_fields(words, std::move(what.set));
    for (auto& entry : what.entries) {
        words.push_back(std::to_string(entry.position));
        words.emplace_back(1, entry.kind);
        words.push_back(std::move(entry.bytes));
    }
    auto made = command("append", what.key, std::move(words));
    made.script = &scripts::append;
    return made;
}

namespace {

std::size_t size_of(const log_append& what) {
    std::size_t size = 0;
    for (const auto& entry : what.entries)
        size += entry.bytes.size();
    for (const auto& [name, value] : what.set)
        size += name.size() + value.size();
    return size;
}

} // namespace

aio::task<result<std::uint64_t>> redis_store::append(log_append what) {
    auto fit = fits(size_of(what));
    if (!fit) co_return fit.error();
    auto sending = writing(std::move(what));
    auto got = co_await send(std::move(sending));
    co_return as_number(got);
}

aio::task<result<std::optional<log_page>>>
redis_store::read_log(std::string key, std::uint64_t after, std::size_t max_bytes) {
    // Lua's numbers hold 2^53 whole numbers: "all of it" must not round to something odd.
    constexpr std::uint64_t most = 1ULL << 52;
    redis_words words{
        std::to_string(std::min<std::uint64_t>(after, most)),
        std::to_string(std::min<std::uint64_t>(max_bytes, most))
    };
    auto got = co_await run("read_log", scripts::read_log, std::move(key), std::move(words));
    if (!got) co_return got.error();
    if (got->is_nil()) co_return std::optional<log_page>();
    if (got->items.size() != 7) co_return odd();
    auto& positions = got->items[5].items;
    auto& entries = got->items[6].items;
    if (positions.size() != entries.size()) co_return odd();
    log_page page;
    page.epoch = number_in(got->items[0]);
    page.owner = std::move(got->items[1].text);
    page.last = number_in(got->items[2]);
    page.more = got->items[3].number != 0;
    page.record = as_fields(std::move(got->items[4]));
    for (std::size_t i = 0; i < entries.size(); ++i) {
        auto& text = entries[i].text;
        if (text.empty()) co_return odd();
        page.entries.push_back({number_in(positions[i]), text.front(), text.substr(1)});
    }
    co_return std::optional(std::move(page));
}

aio::task<result<std::uint64_t>>
redis_store::adopt_log(std::string key, std::uint64_t epoch, std::string owner) {
    redis_words words{std::to_string(epoch), std::move(owner)};
    auto got = co_await run("adopt_log", scripts::adopt_log, std::move(key), std::move(words));
    co_return as_number(got);
}

} // namespace sluice::state
