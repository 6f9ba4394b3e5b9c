#include "state/redis_ear.hpp"

#include <utility>

namespace sluice::state {

using base::result;

namespace {

// A subscription that hears nothing is tried this often: the far end of it may be gone.
constexpr auto quiet_for = std::chrono::seconds(2);

} // namespace

redis_ear::redis_ear(
    redis_surroundings& around,
    redis_finder find,
    std::function<void(const base::fault*)> changed,
    std::function<void()> settled
)
    : around_(around), find_(std::move(find)), changed_(std::move(changed)),
      settled_(std::move(settled)), work_(around.loop.get_executor()),
      idle_(around.loop.get_executor()), writer_(around.loop.get_executor(), "state"),
      runner_(around.loop.get_executor(), "state") {}

redis_ear::~redis_ear() = default;

void redis_ear::start() {
    uptime_.begin();
    auto job = run();
    runner_.spawn(std::move(job));
}

aio::task<> redis_ear::shut_down() {
    runner_.stop();
    if (link_) link_->cancel();
    idle_.wake();
    co_await runner_.join();
}

void redis_ear::on_word(store::hearer words, std::function<void()> gap) {
    words_ = std::move(words);
    gap_ = std::move(gap);
}

void redis_ear::listen(std::string channel) {
    if (++channels_[channel] > 1 || !uptime_.is_up()) return;
    ++unconfirmed_;
    out_.push_back({"SUBSCRIBE", std::move(channel)});
    work_.wake();
}

void redis_ear::unlisten(const std::string& channel) {
    auto it = channels_.find(channel);
    if (it == channels_.end() || --it->second > 0) return;
    channels_.erase(it);
    if (!uptime_.is_up()) return;
    out_.push_back({"UNSUBSCRIBE", channel});
    work_.wake();
}

void redis_ear::now_up(bool up, const base::fault* why) {
    if (uptime_.turn(up)) changed_(why);
    if (!up) settled_();
}

aio::task<> redis_ear::run() {
    co_await aio::keep_running_when_cancelled();
    unsigned failures = 0;
    while (!runner_.stopping()) {
        link_ = std::make_unique<redis_link>(around_);
        auto connected = co_await connect();
        base::fault why;
        if (runner_.stopping()) break;
        if (connected) {
            failures = 0;
            subscribe_all(); // in one step with being up: listen() adds to either
            now_up(true, nullptr);
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
        auto until = aio::clock::now() + redis_backoff(failures++);
        if (!runner_.stopping()) co_await idle_.wait(until);
    }
    uptime_.end();
    link_.reset();
}

aio::task<result<void>> redis_ear::connect() {
    auto until = aio::clock::now() + around_.settings.timeout;
    auto at = co_await find_(until);
    if (!at) co_return at.error();
    co_return co_await link_->open(*at, until);
}

void redis_ear::subscribe_all() {
    // A channel of our own, so that there is always one: a refusal shows at once.
    redis_words words{"SUBSCRIBE", around_.settings.key_prefix + "ears"};
    for (const auto& [channel, count] : channels_)
        words.push_back(channel);
    pinged_ = false;
    fresh_ = true;
    unconfirmed_ = words.size() - 1;
    out_.clear();
    out_.push_back(std::move(words));
}

aio::task<> redis_ear::write_loop() {
    co_await aio::keep_running_when_cancelled();
    while (writing_) {
        std::string bytes;
        for (const auto& words : std::exchange(out_, {}))
            bytes += encode(words);
        if (bytes.empty()) {
            co_await work_.wait();
            continue;
        }
        auto wrote = co_await link_->write(std::move(bytes));
        if (wrote) continue;
        link_->cancel();
        co_return;
    }
}

bool redis_ear::take(const wire::resp_reply& push) {
    using type = wire::resp_reply::type;
    if (push.kind != type::array || push.items.empty()) return false;
    const auto& word = push.items[0].text;
    pinged_ = pinged_ && word != "pong";
    if (word == "subscribe") {
        if (unconfirmed_ == 0) return true;
        if (--unconfirmed_ > 0) return true;
        if (std::exchange(fresh_, false) && gap_) gap_();
        settled_();
        return true;
    }
    if (word != "message" || push.items.size() != 3) return true;
    std::string_view channel = push.items[1].text;
    channel.remove_prefix(std::min(around_.settings.key_prefix.size(), channel.size()));
    // What was published before an unlisten() may still come.
    if (words_ && channels_.contains(push.items[1].text)) words_(channel, push.items[2].text);
    return true;
}

aio::task<base::fault> redis_ear::read_loop() {
    for (;;) {
        auto patience =
            pinged_ || unconfirmed_ > 0 ? around_.settings.timeout : milliseconds(quiet_for);
        link_->set_deadline(aio::clock::now() + patience);
        auto reply = co_await link_->read();
        if (reply && reply->is_error()) co_return fault_of(*reply);
        if (reply && take(*reply)) continue;
        if (reply) co_return base::fault(base::errc::protocol, "not a word of a subscription");
        bool late = reply.error().code == base::errc::timeout;
        if (!late || runner_.stopping()) co_return std::move(reply.error());
        if (pinged_ || unconfirmed_ > 0)
            co_return base::fault(base::errc::timeout, "the subscription does not answer");
        pinged_ = true;
        out_.push_back({"PING"});
        work_.wake();
    }
}

} // namespace sluice::state
