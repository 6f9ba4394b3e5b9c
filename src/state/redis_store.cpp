#include "state/redis_store.hpp"

#include "state/redis.hpp"

namespace sluice::state {

using base::result;

redis_store::redis_store(redis_surroundings around, sys::meters* meters)
    : around_(std::move(around)), client_(around_, meters) {}

redis_store::~redis_store() = default;

aio::task<> redis_store::shut_down() {
    co_await client_.shut_down();
}

result<void> redis_store::fits(std::size_t bytes) const {
    if (bytes <= around_.settings.max_value) return {};
    return base::fault(base::errc::too_large, "the value is larger than the store takes");
}

redis_command
redis_store::command(std::string_view op, std::string_view key, redis_words words) const {
    redis_command made;
    made.op = op;
    made.key = named(key);
    made.words = std::move(words);
    made.since = aio::clock::now();
    made.until = made.since + around_.settings.timeout;
    return made;
}

namespace {

// Where an answer lands; it may come when nobody waits any more.
struct landing {
    explicit landing(aio::executor ex) : flag(ex) {}
    aio::signal_flag flag;
    std::optional<result<wire::resp_reply>> got;
};

} // namespace

aio::task<result<wire::resp_reply>> redis_store::send(redis_command what) {
    auto here = std::make_shared<landing>(around_.loop.get_executor());
    what.done = [here](result<wire::resp_reply> reply) {
        here->got = std::move(reply);
        here->flag.wake();
    };
    // The engine answers at the deadline; this is for one that would not.
    auto until = what.until + std::chrono::milliseconds(100);
    client_.submit(std::move(what));
    if (!here->got) co_await here->flag.wait(until);
    if (here->got) co_return *std::move(here->got);
    auto why = aio::nothing_came(until);
    if (why.code == base::errc::cancelled) co_return why;
    co_return base::fault(base::errc::unreachable, "the store does not answer");
}

aio::task<result<wire::resp_reply>> redis_store::run(
    std::string_view op, const redis_script& script, std::string key, redis_words arguments
) {
    std::size_t bytes = 0;
    for (const auto& word : arguments)
        bytes += word.size();
    auto fit = fits(bytes);
    if (!fit) co_return fit.error();
    auto what = command(op, key, std::move(arguments));
    what.script = &script;
    co_return co_await send(std::move(what));
}

aio::task<result<wire::resp_reply>>
redis_store::ask(std::string_view op, std::string key, redis_words words) {
    std::size_t bytes = 0;
    for (const auto& word : words)
        bytes += word.size();
    auto fit = fits(bytes);
    if (!fit) co_return fit.error();
    words.insert(words.begin() + 1, named(key));
    auto what = command(op, key, std::move(words));
    co_return co_await send(std::move(what));
}

// --- broadcast ---

void redis_store::publish(std::string channel, std::string word) {
    auto name = named(channel);
    auto what = command("publish", channel, {"PUBLISH", std::move(name), std::move(word)});
    what.done = [](const result<wire::resp_reply>&) {}; // at most once: nobody is told
    client_.submit(std::move(what));
}

void redis_store::on_word(hearer words, std::function<void()> gap) {
    client_.ear().on_word(std::move(words), std::move(gap));
}

void redis_store::listen(std::string channel) {
    client_.ear().listen(named(channel));
}

void redis_store::unlisten(std::string channel) {
    client_.ear().unlisten(named(channel));
}

result<std::unique_ptr<store>> make_redis_store(
    aio::loop& loop, aio::deadlines& deadlines, redis_settings settings, sys::meters* meters
) {
    redis_surroundings around{loop, deadlines, std::move(settings), nullptr};
    if (around.settings.tls) {
        auto made = net::tls_context::make(around.settings.certificates);
        if (!made) return made.error();
        around.tls = std::move(*made);
    }
    return std::unique_ptr<store>(std::make_unique<redis_store>(std::move(around), meters));
}

} // namespace sluice::state
