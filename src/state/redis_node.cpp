#include "state/redis_node.hpp"

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

redis_node::redis_node(redis_surroundings& around, redis_finder find, reports tell)
    : redis_line(around, std::move(find)), tell_(std::move(tell)) {}

redis_node::~redis_node() = default;

bool redis_node::must_fail(const redis_command& command, aio::instant now) const {
    if (command.until <= now) return true;
    // A short absence is waited for; one that lasts is said at once.
    return !uptime_.is_up() && now - uptime_.since() >= around_.settings.timeout;
}

std::optional<base::fault> redis_node::submit(redis_command& command) {
    if (unsent_.size() + sent_.size() >= around_.settings.max_queue)
        return base::fault(base::errc::unreachable, "too many commands wait for the store");
    if (stopping() || must_fail(command, aio::clock::now())) return away(last_);
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

void redis_node::fail_all(std::deque<redis_command>& queue, const base::fault& why) {
    for (auto& command : std::exchange(queue, {}))
        tell_.answered(std::move(command), why);
}

void redis_node::stands() {
    if (uptime_.turn(true) && tell_.changed) tell_.changed(nullptr);
    work_.wake();
}

void redis_node::fell(const base::fault& why) {
    last_ = why;
    if (uptime_.turn(false) && tell_.changed) tell_.changed(&why);
}

void redis_node::lost(const base::fault& why) {
    fail_all(sent_, away(why));
}

void redis_node::ended() {
    base::fault why(base::errc::unreachable, "the gateway ends");
    fail_all(sent_, why);
    fail_all(unsent_, why);
}

aio::task<> redis_node::rest(aio::duration length) {
    auto until = aio::clock::now() + length;
    while (!stopping() && aio::clock::now() < until) {
        fail_overdue();
        auto next = std::min(until, aio::clock::now() + std::chrono::milliseconds(50));
        if (unsent_.empty()) next = until;
        co_await idle_.wait(next);
    }
    fail_overdue();
}

aio::task<result<void>> redis_node::prepare(aio::instant until) {
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

std::string redis_node::next_bytes() {
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
    return bytes;
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
        if (!late || stopping()) co_return std::move(reply.error());
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
