#include "upstream/http_session.hpp"

#include "sys/random.hpp"
#include "upstream/handoff.hpp"
#include "upstream/handshake.hpp"
#include "upstream/http_call.hpp"
#include "upstream/http_listener.hpp"

#include <algorithm>

namespace sluice::upstream {

namespace {

constexpr auto farewell = std::chrono::seconds(2);
constexpr std::size_t small_body = 64 * 1024;
// Answers to the upstream's own requests: posted at once, and waiting for it. One piece of a stream
// brings fewer, and no more is read meanwhile.
constexpr std::size_t most_posters = 4;
constexpr std::size_t most_answers = 4096;

// It did not even refuse what was posted.
bool takes_nothing(const base::fault& why) {
    return why.http_status == 0;
}

// What the gateway holds: its end is the end of the call.
class http_reply final : public reply {
public:
    http_reply(std::shared_ptr<http_call> call, std::unique_ptr<counted> place)
        : call_(std::move(call)), place_(std::move(place)) {}
    ~http_reply() override { call_->abandon(); }
    aio::task<base::result<step>> next(aio::instant until) override { return call_->next(until); }
    void interrupt() override { call_->interrupt(); }
    aio::task<> cancel(std::string reason_json) override {
        return call_->cancel(std::move(reason_json));
    }

private:
    std::shared_ptr<http_call> call_;
    std::unique_ptr<counted> place_;
};

} // namespace

http_session::http_session(
    std::shared_ptr<core> shared, std::shared_ptr<net::http_pool> pool, open_request request
)
    : core_(std::move(shared)), pool_(std::move(pool)), request_(std::move(request)),
      place_(core_, &server_status::links), target_(pool_->origin().target),
      own_(own_headers(core_->settings)), renewed_(core_->around.loop.get_executor()) {
    own_.set("Content-Type", "application/json");
    own_.set("Accept", "application/json, text/event-stream");
}

net::fields http_session::headers(const header_list& forwarded, bool opening) const {
    net::fields out = own_;
    if (!opening && !revision_.empty()) out.add("MCP-Protocol-Version", revision_);
    if (!opening && !session_id_.empty()) out.add("Mcp-Session-Id", session_id_);
    if (!forwarded.empty()) add_forwarded(out, forwarded, core_->settings);
    return out;
}

aio::task<base::result<void>> http_session::open(aio::instant until) {
    auto done = co_await initialize(until);
    co_return done;
}

std::string http_session::handle() const {
    if (gone_ || generation_ == 0) return {};
    return make_handle({session_id_, target_, peer_});
}

base::result<void> http_session::adopt(std::string_view handle) {
    auto given = read_handle(handle);
    if (!given) return given.error();
    session_id_ = std::move(given->session);
    target_ = std::move(given->target);
    peer_ = std::move(given->peer);
    revision_ = peer_.revision;
    ++generation_;
    // Two replicas that ask in one session must never give two requests one id.
    next_id_ = ((sys::random_u64() & 0xFFFFFU) + 1) << 32U;
    return {};
}

aio::task<base::result<void>> http_session::initialize(aio::instant until) {
    auto message = make_initialize(request_);
    if (!message) co_return message.error();
    outgoing ask;
    ask.message = std::make_shared<const wire::message>(std::move(*message));
    ask.headers = request_.headers;
    ask.until = until;
    auto call = std::make_shared<http_call>(shared_from_this(), std::move(ask), true);
    auto sent = co_await call->send();
    if (!sent) co_return sent;
    base::result<step> got;
    do {
        got = co_await call->next(until);
    } while (got && !got->message.is_response());
    call->abandon();
    if (!got) co_return got.error();
    auto peer = read_initialize(got->message);
    if (!peer) co_return peer.error();
    peer_ = std::move(*peer);
    session_id_ = call->session_id();
    revision_ = peer_.revision;
    ++generation_;
    auto told = co_await post(initialized_text, until);
    co_return told;
}

aio::task<base::result<void>> http_session::renew(std::uint64_t forgotten, aio::instant until) {
    while (renewing_)
        co_await renewed_.wait();
    if (gone_) co_return base::fault(base::errc::unreachable, "the session has ended");
    if (generation_ != forgotten) co_return base::result<void>();
    renewing_ = true;
    auto latest = aio::clock::now() + core_->settings.initialize_timeout;
    auto done = co_await initialize(std::min(until, latest));
    renewing_ = false;
    if (!done) gone_ = true;
    renewed_.wake_all();
    if (done) {
        if (standing_) standing_->restart();
        hearers_.each([](listener& who) { who.reopened(); });
    } else {
        if (standing_) standing_->stop();
        auto told = std::exchange(hearers_, {});
        told.each([](listener& who) { who.lost(); });
    }
    co_return done;
}

aio::task<base::result<std::unique_ptr<reply>>> http_session::call(outgoing request) {
    if (!usable()) co_return base::fault(base::errc::unreachable, "the session has ended");
    auto place = take_place(core_);
    if (!place) co_return place.error();
    auto admitted = core_->admit();
    if (!admitted) co_return admitted.error();
    // What is sent for the session itself goes with the newest headers, not the opener's.
    if (request.own)
        request.headers = request_.headers;
    else
        request_.headers = request.headers;
    auto call = std::make_shared<http_call>(shared_from_this(), std::move(request), false);
    call->tell_mark(); // before it can be answered
    auto sent = co_await call->send();
    if (!sent) co_return sent.error();
    co_return std::make_unique<http_reply>(std::move(call), std::move(*place));
}

aio::task<base::result<std::unique_ptr<reply>>>
http_session::resume(std::string mark, outgoing request) {
    if (!usable()) co_return base::fault(base::errc::unreachable, "the session has ended");
    auto at = read_mark(mark);
    if (!at || at->event.empty())
        co_return base::fault(base::errc::unsupported, "its answer cannot be resumed");
    auto place = take_place(core_);
    if (!place) co_return place.error();
    auto call = std::make_shared<http_call>(shared_from_this(), std::move(request), false);
    call->resume_at(std::move(at->id), std::move(at->event));
    co_return std::make_unique<http_reply>(std::move(call), std::move(*place));
}

aio::task<> http_session::call_off(std::string mark, std::string reason_json, aio::instant until) {
    auto at = read_mark(mark);
    if (!at || !usable()) co_return;
    [[maybe_unused]] auto told = co_await post(make_cancelled(at->id, reason_json), until);
}

aio::task<base::result<void>> http_session::notify(std::string bytes, aio::instant until) {
    if (!usable()) co_return base::fault(base::errc::unreachable, "the session has ended");
    auto posted = co_await post(std::move(bytes), until);
    co_return posted;
}

aio::task<base::result<void>> http_session::post(std::string bytes, aio::instant until) {
    net::client_request request;
    request.target = target_;
    request.headers = headers(request_.headers);
    request.body = std::move(bytes);
    auto response = co_await pool_->send(std::move(request), until);
    if (!response) co_return response.error();
    int status = (*response)->head().status;
    // To its end, so that the connection can serve again; a long one is cut instead.
    [[maybe_unused]] auto rest = co_await net::read_all(**response, small_body, until);
    if (status >= 200 && status < 300) co_return base::result<void>();
    co_return refused(status);
}

void http_session::answer(std::string bytes) {
    if (core_->stopped) return;
    if (answers_.size() >= most_answers) return core_->leave_unanswered(1);
    answers_.push_back(std::move(bytes));
    if (posters_ >= most_posters) return;
    ++posters_;
    core_->helpers.spawn(post_answers(shared_from_this()));
}

void http_session::set_aside(const wire::unaccepted& what, const base::fault& why) {
    if (what.id.empty())
        ++core_->numbers.dropped_notes;
    else
        answer(refusal_of(what, why));
}

// When the upstream takes none, what waits is given up: its reader must go on.
aio::task<> http_session::post_answers(self me) {
    co_await aio::keep_running_when_cancelled();
    while (!me->answers_.empty() && !me->core_->stopped) {
        auto bytes = std::move(me->answers_.front());
        me->answers_.pop_front();
        auto done = co_await me->post(std::move(bytes), aio::clock::now() + farewell);
        if (!done && takes_nothing(done.error()) && !me->core_->stopped) {
            me->core_->leave_unanswered(1 + me->answers_.size());
            me->answers_.clear();
        }
    }
    --me->posters_;
}

aio::task<> http_session::close() {
    hearers_.clear();
    if (standing_) standing_->stop();
    if (gone_) co_return;
    gone_ = true;
    if (session_id_.empty() || core_->stopped) co_return;
    net::client_request request;
    request.method = "DELETE";
    request.target = target_;
    request.headers = headers(request_.headers);
    request.headers.erase("Content-Type");
    auto until = aio::clock::now() + farewell;
    auto response = co_await pool_->send(std::move(request), until);
    if (!response) co_return; // it will time out at the upstream
    [[maybe_unused]] auto rest = co_await net::read_all(**response, small_body, until);
}

} // namespace sluice::upstream
