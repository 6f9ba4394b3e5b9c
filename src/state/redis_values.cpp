#include "state/redis_replies.hpp"
#include "state/redis_store.hpp"

namespace sluice::state {

using base::result;
using maybe_text = std::optional<std::string>;

aio::task<result<void>> redis_store::put(std::string key, std::string value, milliseconds ttl) {
    redis_words words{"SET", std::move(value), "PX", life(ttl)};
    auto got = co_await ask("put", std::move(key), std::move(words));
    if (!got) co_return got.error();
    co_return result<void>();
}

aio::task<result<maybe_text>> redis_store::get(std::string key) {
    redis_words words{"GET"};
    auto got = co_await ask("get", std::move(key), std::move(words));
    co_return as_text(std::move(got));
}

aio::task<result<maybe_text>>
redis_store::put_new(std::string key, std::string value, milliseconds ttl) {
    redis_words words{std::move(value), life(ttl)};
    auto got = co_await run("put_new", scripts::put_new, std::move(key), std::move(words));
    co_return as_text(std::move(got));
}

aio::task<result<bool>>
redis_store::replace(std::string key, std::string expected, std::string value, milliseconds ttl) {
    redis_words words{std::move(expected), std::move(value), life(ttl)};
    auto got = co_await run("replace", scripts::replace, std::move(key), std::move(words));
    co_return as_yes(got);
}

aio::task<result<bool>> redis_store::erase(std::string key) {
    redis_words words{"DEL"};
    auto got = co_await ask("erase", std::move(key), std::move(words));
    co_return as_yes(got);
}

aio::task<result<bool>> redis_store::keep(std::string key, milliseconds ttl) {
    redis_words words{"PEXPIRE", life(ttl)};
    auto got = co_await ask("keep", std::move(key), std::move(words));
    co_return as_yes(got);
}

aio::task<result<std::optional<milliseconds>>> redis_store::time_left(std::string key) {
    redis_words words{"PTTL"};
    auto got = co_await ask("time_left", std::move(key), std::move(words));
    if (!got) co_return got.error();
    if (got->number < 0) co_return std::optional<milliseconds>();
    co_return std::optional(milliseconds(got->number));
}

// --- records ---

aio::task<result<bool>> redis_store::create(std::string key, fields values, milliseconds ttl) {
    redis_words words{life(ttl), "r", ""};
    add_fields(words, std::move(values));
    auto got = co_await run("create", scripts::create, std::move(key), std::move(words));
    co_return as_yes(got);
}

aio::task<result<std::optional<fields>>> redis_store::read(std::string key) {
    redis_words words;
    auto got = co_await run("read", scripts::read, std::move(key), std::move(words));
    if (!got) co_return got.error();
    if (got->is_nil()) co_return std::optional<fields>();
    co_return std::optional(as_fields(std::move(*got)));
}

aio::task<result<maybe_text>> redis_store::read_field(std::string key, std::string field) {
    redis_words words{"HGET", "r:" + field};
    auto got = co_await ask("read_field", std::move(key), std::move(words));
    co_return as_text(std::move(got));
}

aio::task<result<bool>> redis_store::set(std::string key, fields values) {
    redis_words words;
    add_fields(words, std::move(values));
    auto got = co_await run("set", scripts::set, std::move(key), std::move(words));
    co_return as_yes(got);
}

aio::task<result<maybe_text>>
redis_store::set_new(std::string key, std::string field, std::string value) {
    redis_words words{std::move(field), std::move(value)};
    auto got = co_await run("set_new", scripts::set_new, std::move(key), std::move(words));
    if (got && got->kind == wire::resp_reply::type::integer)
        co_return base::fault(base::errc::not_found, "no such record");
    co_return as_text(std::move(got));
}

aio::task<result<bool>>
redis_store::set_if(std::string key, std::string field, std::string expected, std::string value) {
    redis_words words{std::move(field), std::move(expected), std::move(value)};
    auto got = co_await run("set_if", scripts::set_if, std::move(key), std::move(words));
    co_return as_yes(got);
}

aio::task<result<bool>> redis_store::unset(std::string key, std::string field) {
    redis_words words{std::move(field)};
    auto got = co_await run("unset", scripts::unset, std::move(key), std::move(words));
    co_return as_yes(got);
}

// --- rosters ---

aio::task<result<bool>>
redis_store::enlist(std::string roster, std::string member, milliseconds ttl, std::size_t cap) {
    redis_words words{std::move(member), life(ttl), std::to_string(cap)};
    auto got = co_await run("enlist", scripts::enlist, std::move(roster), std::move(words));
    co_return as_yes(got);
}

aio::task<result<bool>> redis_store::leave(std::string roster, std::string member) {
    redis_words words{std::move(member)};
    auto got = co_await run("leave", scripts::leave, std::move(roster), std::move(words));
    co_return as_yes(got);
}

aio::task<result<std::vector<std::string>>> redis_store::members(std::string roster) {
    redis_words words;
    auto got = co_await run("members", scripts::members, std::move(roster), std::move(words));
    if (!got) co_return got.error();
    std::vector<std::string> names;
    for (auto& item : got->items)
        names.push_back(std::move(item.text));
    co_return names;
}

} // namespace sluice::state
