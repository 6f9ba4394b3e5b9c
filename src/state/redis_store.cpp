#include "state/redis_store.hpp"

#include "aio/within.hpp"
#include "state/redis.hpp"

namespace sluice::state {

using base::result;

namespace {
constexpr auto say_again = std::chrono::milliseconds(250);
}

redis_store::redis_store(redis_surroundings around, sys::meters* meters)
    : around_(std::move(around)), client_(around_, meters),
      jobs_(around_.loop.get_executor(), "state") {}

redis_store::~redis_store() = default;

aio::task<> redis_store::shut_down() {
    jobs_.stop();
    co_await jobs_.join();
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

redis_command redis_store::saying(std::string channel, std::string word) const {
    auto what = command("publish", {}, {"PUBLISH", std::move(channel), std::move(word)});
    what.key.clear(); // any server of a cluster tells all of them
    return what;
}

// At most once: a word that may not have been heard is not said again, but that there was one.
void redis_store::publish(std::string channel, std::string word) {
    auto what = saying(named(channel), std::move(word));
    what.done = [this](const result<wire::resp_reply>& reply) {
        if (!reply) say_missed();
    };
    client_.submit(std::move(what));
}

void redis_store::say_missed() {
    if (++unheard_ > 1 || jobs_.stopping()) return;
    auto job = keep_saying_missed();
    jobs_.spawn(std::move(job));
}

aio::task<> redis_store::keep_saying_missed() {
    co_await aio::keep_running_when_cancelled();
    while (unheard_ > 0 && !jobs_.stopping()) {
        co_await aio::pause(say_again);
        auto meant = unheard_;
        auto said = co_await send(saying(named(ears), std::string(words_missed)));
        if (said && meant == unheard_) unheard_ = 0;
    }
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
