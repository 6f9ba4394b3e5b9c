#include "state/redis_ear.hpp"

#include <utility>

namespace sluice::state {

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
    : redis_line(around, std::move(find)), changed_(std::move(changed)),
      settled_(std::move(settled)) {}

redis_ear::~redis_ear() = default;

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

void redis_ear::stands() {
    subscribe_all(); // in one step with being up: listen() adds to either
    if (uptime_.turn(true)) changed_(nullptr);
}

void redis_ear::fell(const base::fault& why) {
    if (uptime_.turn(false)) changed_(&why);
    settled_();
}

void redis_ear::subscribe_all() {
    // A channel of our own, so that there is always one: a refusal shows at once.
    redis_words words{"SUBSCRIBE", around_.settings.key_prefix + std::string(ears)};
    for (const auto& [channel, count] : channels_)
        words.push_back(channel);
    pinged_ = false;
    fresh_ = true;
    unconfirmed_ = words.size() - 1;
    out_.clear();
    out_.push_back(std::move(words));
}

std::string redis_ear::next_bytes() {
    std::string bytes;
    for (const auto& words : std::exchange(out_, {}))
        bytes += encode(words);
    return bytes;
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
    if (channel == ears && gap_) gap_();
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
        if (!late || stopping()) co_return std::move(reply.error());
        if (pinged_ || unconfirmed_ > 0)
            co_return base::fault(base::errc::timeout, "the subscription does not answer");
        pinged_ = true;
        out_.push_back({"PING"});
        work_.wake();
    }
}

} // namespace sluice::state
