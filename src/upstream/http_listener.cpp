#include "upstream/http_listener.hpp"

#include "aio/within.hpp"
#include "base/text.hpp"
#include "sys/random.hpp"
#include "upstream/handshake.hpp"
#include "upstream/room.hpp"

#include <algorithm>

namespace sluice::upstream {

namespace {

constexpr std::uint32_t longest_retry_ms = 60'000;
constexpr std::uint32_t most_doublings = 6;
// A stream that stood this long was worth it, whether it said anything or not.
constexpr auto long_stand = std::chrono::seconds(10);
constexpr auto nap = std::chrono::milliseconds(5);

bool is_stream(const net::response_head& head) {
    auto type = base::lower(base::trim(head.headers.get("Content-Type").value_or("")));
    return type.starts_with("text/event-stream");
}

} // namespace

http_listener::http_listener(const std::shared_ptr<http_session>& of, std::shared_ptr<core> shared)
    : of_(of), core_(std::move(shared)), woken_(core_->around.loop.get_executor()) {}

void http_listener::start() {
    if (running_ || over()) return;
    running_ = true;
    core_->streams.spawn(run(shared_from_this()));
}

void http_listener::restart() {
    last_event_id_.clear();
    fruitless_ = 0;
    stood_ = false;
    if (response_) response_->cancel();
    woken_.wake();
}

void http_listener::stop() {
    stopped_ = true;
    if (response_) response_->cancel();
    woken_.wake();
}

aio::task<> http_listener::run(self me) {
    co_await aio::keep_running_when_cancelled();
    while (!me->over()) {
        auto found = co_await me->listen_once();
        me->response_.reset();
        if (found == verdict::no_use || me->over()) break;
        auto until = aio::clock::now() + me->wait();
        [[maybe_unused]] bool woken = co_await me->woken_.wait(until);
    }
    me->running_ = false;
}

// What it asked for, doubled for each try that brought nothing, spread so that many sessions of one
// upstream do not come back at once.
aio::duration http_listener::wait() const {
    auto doubled = std::uint64_t(retry_ms_) << std::min(fruitless_, most_doublings);
    auto bounded = std::min<std::uint64_t>(doubled, longest_retry_ms);
    bool asked = fruitless_ == 0;
    return asked ? std::chrono::milliseconds(bounded)
                 : jittered(std::chrono::milliseconds(bounded), sys::random_u64());
}

aio::task<http_listener::verdict> http_listener::listen_once() {
    auto session = of_.lock();
    auto generation = session->generation();
    auto get = session->make_get(last_event_id_);
    auto until = aio::clock::now() + core_->settings.connect_timeout;
    auto response = co_await session->pool().begin(std::move(get), until);
    session.reset();
    ++fruitless_;
    if (!response || over()) co_return verdict::again;
    response_ = std::move(*response);
    auto got = co_await response_->read_head(aio::never);
    if (!got) co_return verdict::again;
    if (response_->head().status != 200) {
        auto found = co_await judge(response_->head().status, generation);
        co_return found;
    }
    if (!is_stream(response_->head())) co_return verdict::no_use;
    auto readable = is_readable(response_->head());
    if (!readable) {
        core_->report("the standing stream", readable.error());
        co_return verdict::no_use;
    }
    if (auto of = of_.lock(); of && stood_ && last_event_id_.empty()) of->standing_had_a_gap();
    stood_ = true;
    co_await read_events();
    co_return verdict::again;
}

aio::task<http_listener::verdict> http_listener::judge(int status, std::uint64_t generation) {
    response_.reset();
    auto session = of_.lock();
    if (status == 404 && session && session->has_session()) {
        auto until = aio::clock::now() + core_->settings.initialize_timeout;
        auto renewed = co_await session->renew(generation, until);
        co_return renewed ? verdict::again : verdict::no_use;
    }
    // An older stream of ours that the upstream has not seen the end of, or a busy upstream.
    bool passing = status == 409 || status == 429 || status >= 500;
    bool never = status == 501;
    bool has_one = status == 401 || status == 403 || (status >= 500 && !never);
    if (has_one) core_->report("the standing stream", refused(status));
    co_return passing && !never ? verdict::again : verdict::no_use;
}

aio::task<> http_listener::read_events() {
    wire::sse_decoder decoder(core_->settings.max_message_bytes + 1024);
    room space(core_->around.bodies);
    auto since = aio::clock::now();
    for (;;) {
        auto piece = co_await response_->read_some(aio::never);
        if (!piece || piece->empty()) break;
        decoder.feed(*piece);
        while (auto event = decoder.next())
            take(std::move(*event), space.hand_over());
        while (is_behind())
            co_await aio::pause(nap);
        if (decoder.too_big() || over() || !space.grow_to(decoder.held())) break;
    }
    if (aio::clock::now() - since > long_stand) fruitless_ = 0;
}

bool http_listener::is_behind() const {
    auto session = of_.lock();
    return session && session->is_behind() && !over();
}

// `held` lives until the message was passed on.
void http_listener::take(wire::sse_event event, const std::shared_ptr<const void>&) {
    if (event.has_id && is_sendable_id(event.id)) last_event_id_ = event.id;
    if (event.retry_ms) retry_ms_ = std::min(*event.retry_ms, longest_retry_ms);
    fruitless_ = 0;
    bool message = event.event.empty() || event.event == "message";
    if (event.data.empty() || !message) return;
    auto session = of_.lock();
    if (session) session->take_standing(std::move(event.data));
}

} // namespace sluice::upstream
