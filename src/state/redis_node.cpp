#include "state/redis_node.hpp"

#include "sys/random.hpp"

#include <algorithm>

namespace sluice::state {

using base::result;

namespace {

// A quiet connection is tried this often, so that readiness is true of a store nobody asks.
constexpr auto quiet_for = std::chrono::seconds(1);
constexpr std::size_t largest_write = 1024UL * 1024;

base::fault away(const base::fault& why) {
    return {base::errc::unreachable, "the store is away: " + why.message};
}

} // namespace

aio::duration redis_backoff(unsigned failures) {
    auto most = std::min<std::uint64_t>(50ULL << std::min(failures, 6U), 2'000);
    auto length = most - sys::random_u64() % (most / 2 + 1);
    return std::chrono::milliseconds(length);
}

redis_node::redis_node(redis_surroundings& around, redis_finder find, reports tell)
    : around_(around), find_(std::move(find)), tell_(std::move(tell)),
      work_(around.loop.get_executor()), idle_(around.loop.get_executor()),
      writer_(around.loop.get_executor(), "state"), runner_(around.loop.get_executor(), "state") {}

redis_node::~redis_node() = default;

void redis_node::start() {
    uptime_.begin();
    auto job = run();
    runner_.spawn(std::move(job));
}

aio::task<> redis_node::shut_down() {
    runner_.stop();
    if (link_) link_->cancel();
    idle_.wake();
    co_await runner_.join();
    fail_all({base::errc::unreachable, "the gateway ends"});
}

bool redis_node::must_fail(const redis_command& command, aio::instant now) const {
    if (command.until <= now) return true;
    // A short absence is waited for; one that lasts is said at once.
    return !uptime_.is_up() && now - uptime_.since() >= around_.settings.timeout;
}

std::optional<base::fault> redis_node::submit(redis_command& command) {
    if (unsent_.size() + sent_.size() >= around_.settings.max_queue)
        return base::fault(base::errc::unreachable, "too many commands wait for the store");
    if (runner_.stopping() || must_fail(command, aio::clock::now())) return away(last_);
    unsent_.push_back(std::move(command));
    work_.wake();
    return std::nullopt;
}

std::deque<redis_command> redis_node::let_go() {
    tell_.changed = nullptr;
    return std::exchange(unsent_, {});
}

void redis_node::fail_overdue() {
    auto now = aio::clock::now();
    auto why = away(last_);
    while (!unsent_.empty() && must_fail(unsent_.front(), now)) {
        auto command = std::move(unsent_.front());
        unsent_.pop_front();
        tell_.answered(std::move(command), why);
    }
}

void redis_node::fail_all(const base::fault& why) {
    for (auto* queue : {&sent_, &unsent_}) {
        auto all = std::exchange(*queue, {});
        for (auto& command : all)
            tell_.answered(std::move(command), why);
    }
}

void redis_node::now_up(bool up, const base::fault* why) {
    if (why != nullptr) last_ = *why;
    if (uptime_.turn(up) && tell_.changed) tell_.changed(why);
}

aio::task<> redis_node::run() {
    co_await aio::keep_running_when_cancelled();
    unsigned failures = 0;
    while (!runner_.stopping()) {
        link_ = std::make_unique<redis_link>(around_);
        auto connected = co_await connect();
        base::fault why;
        if (runner_.stopping()) break;
        if (connected) {
            failures = 0;
            now_up(true, nullptr);
            work_.wake();
            writing_ = true;
            auto job = write_loop();
            writer_.spawn(std::move(job));
            why = co_await read_loop();
        } else {
            why = std::move(connected.error());
        }
        if (!runner_.stopping()) now_up(false, &why);
        writing_ = false;
        link_->cancel();
        work_.wake();
        co_await writer_.join();
        link_.reset();
        auto lost = std::exchange(sent_, {});
        for (auto& command : lost)
            tell_.answered(std::move(command), away(why));
        co_await rest(redis_backoff(failures++));
    }
    link_.reset();
}

aio::task<> redis_node::rest(aio::duration length) {
    auto until = aio::clock::now() + length;
    while (!runner_.stopping() && aio::clock::now() < until) {
        fail_overdue();
        auto next = std::min(until, aio::clock::now() + std::chrono::milliseconds(50));
        if (unsent_.empty()) next = until;
        co_await idle_.wait(next);
    }
    fail_overdue();
}

aio::task<result<void>> redis_node::connect() {
    auto until = aio::clock::now() + around_.settings.timeout;
    auto at = co_await find_(until);
    if (!at) co_return at.error();
    auto opened = co_await link_->open(*at, until);
    if (!opened) co_return opened;
    co_return co_await learn_scripts(until);
}

aio::task<result<void>> redis_node::learn_scripts(aio::instant until) {
    std::vector<redis_words> words;
    words.reserve(scripts::count);
    for (int n = 0; n < scripts::count; ++n)
        words.push_back({"SCRIPT", "LOAD", scripts::at(n).text});
    auto replies = co_await link_->ask(std::move(words), until);
    if (!replies) co_return replies.error();
    // A user who may not load them sends them whole.
    for (std::size_t n = 0; n < digests_.size(); ++n) {
        const auto& reply = (*replies)[n];
        digests_[n] = reply.is_error() ? std::string() : reply.text;
    }
    co_return result<void>();
}

std::string redis_node::encode_next() {
    auto& command = unsent_.front();
    std::string bytes;
    if (command.asking) bytes = encode({"ASKING"});
    if (command.script == nullptr) return bytes + encode(command.words);
    const auto& digest = digests_[static_cast<std::size_t>(command.script->number)];
    bool whole = command.whole_script || digest.empty();
    std::vector<std::string_view> words;
    words.reserve(command.words.size() + 4);
    words.emplace_back(whole ? "EVAL" : "EVALSHA");
    words.emplace_back(whole ? std::string_view(command.script->text) : digest);
    words.emplace_back("1");
    words.emplace_back(command.key);
    words.insert(words.end(), command.words.begin(), command.words.end());
    return bytes + wire::resp_command(words);
}

aio::task<> redis_node::write_loop() {
    co_await aio::keep_running_when_cancelled();
    while (writing_) {
        std::string bytes;
        auto now = aio::clock::now();
        while (!unsent_.empty() && bytes.size() < largest_write) {
            if (unsent_.front().until <= now) {
                fail_overdue();
                continue;
            }
            bytes += encode_next();
            bool first = sent_.empty();
            sent_.push_back(std::move(unsent_.front()));
            unsent_.pop_front();
            if (first) link_->set_deadline(sent_.front().until);
        }
        if (bytes.empty()) {
            co_await work_.wait();
            continue;
        }
        auto wrote = co_await link_->write(std::move(bytes));
        if (wrote) continue;
        link_->cancel(); // the reader tells why
        co_return;
    }
}

aio::task<base::fault> redis_node::read_loop() {
    for (;;) {
        bool quiet = sent_.empty();
        link_->set_deadline(quiet ? aio::clock::now() + quiet_for : sent_.front().until);
        auto reply = co_await link_->read();
        if (reply && !sent_.empty()) {
            bool no_master = is_no_master(*reply);
            auto command = std::move(sent_.front());
            sent_.pop_front();
            base::fault why;
            if (no_master) why = fault_of(*reply);
            if (command.asking) {
                command.asking = false; // that was the reply to ASKING
                sent_.push_front(std::move(command));
            } else {
                tell_.answered(std::move(command), std::move(*reply));
            }
            if (no_master) co_return why;
            continue;
        }
        if (reply) co_return base::fault(base::errc::protocol, "a reply nobody asked for");
        bool late = reply.error().code == base::errc::timeout;
        if (!late || runner_.stopping()) co_return std::move(reply.error());
        if (!sent_.empty() && sent_.front().until <= aio::clock::now())
            co_return base::fault(base::errc::timeout, "the store does not answer");
        if (!sent_.empty()) continue; // a command was sent while it was quiet
        redis_command ping;
        ping.op = "ping";
        ping.words = {"PING"};
        ping.since = aio::clock::now();
        ping.until = ping.since + around_.settings.timeout;
        unsent_.push_back(std::move(ping));
        work_.wake();
    }
}

} // namespace sluice::state
