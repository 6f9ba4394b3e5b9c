#include "upstream/http_call.hpp"

#include "upstream/handshake.hpp"

#include <algorithm>

namespace sluice::upstream {

namespace {

constexpr auto farewell = std::chrono::seconds(2);
// Errands of one server beyond which called-off answers are cut instead of heard out.
constexpr std::size_t most_helpers = 256;

} // namespace

http_call::http_call(std::shared_ptr<http_session> session, outgoing request, bool opening)
    : session_(std::move(session)), request_(std::move(request)), opening_(opening),
      id_(session_->mint_id()), room_(session_->shared().around.bodies),
      errand_over_(session_->shared().around.loop.get_executor()) {
    if (!opening_) session_->enter(*this);
}

http_call::~http_call() {
    if (!opening_) session_->leave(*this);
}

net::client_request http_call::make_post(bool fresh) const {
    net::client_request out;
    out.target = target_.empty() ? session_->target() : target_;
    out.headers = session_->headers(request_.headers, opening_);
    out.body = for_this_hop(request_, id_);
    out.fresh = fresh;
    return out;
}

aio::task<base::result<void>> http_call::send() {
    generation_ = session_->generation();
    auto post = make_post(false);
    bool wrote = false;
    auto response = co_await session_->pool().begin(std::move(post), request_.until, &wrote);
    if (!response) {
        // Where nothing was written, nothing is sent twice.
        bool again = response.error().code == base::errc::closed && !repeated_ &&
                     (request_.again == repeat::once || !wrote);
        if (again) {
            repeated_ = true;
            post = make_post(true);
            response = co_await session_->pool().begin(std::move(post), request_.until);
        }
    }
    if (!response) {
        if (!opening_) session_->shared().note(response.error()); // else who opens notes it
        co_return response.error();
    }
    response_ = std::move(*response);
    sent_ = true;
    co_return base::result<void>();
}

aio::task<base::result<step>> http_call::next(aio::instant until) {
    for (;;) {
        if (interrupted_) {
            refuse_asked(); // what was being read when the interrupt came
            co_return base::fault(base::errc::cancelled, "called off");
        }
        if (!ready_.empty()) {
            auto out = std::move(ready_.front());
            ready_.pop_front();
            co_return out;
        }
        if (ended_) co_return *ended_;
        auto moved_on = co_await advance(until);
        if (moved_on || interrupted_) continue;
        bool timeout = moved_on.error().code == base::errc::timeout;
        if (timeout && !ready_.empty()) continue; // nudged
        if (timeout) co_return moved_on.error();
        end(moved_on.error());
    }
}

aio::task<http_call::moved> http_call::advance(aio::instant until) {
    switch (phase_) {
    case phase::head:
        return take_head(until);
    case phase::json:
        return take_json(until);
    case phase::refusal:
        return take_refusal(until);
    case phase::events:
        return take_events(until);
    case phase::errand:
        break;
    }
    return wait_for_errand(until);
}

aio::task<http_call::moved> http_call::wait_for_errand(aio::instant until) {
    bool woken = co_await errand_over_.wait(until);
    if (woken || phase_ != phase::errand || ended_) co_return moved();
    co_return base::fault(base::errc::timeout, "no answer in time");
}

aio::task<http_call::moved> http_call::take_head(aio::instant until) {
    auto got = co_await response_->read_head(until);
    if (!got && got.error().code == base::errc::timeout) {
        // A tool may take its time; a list that does not come says that the server is stuck.
        bool stuck = request_.again == repeat::once && ready_.empty();
        if (stuck) session_->shared().note(got.error());
        co_return got;
    }
    if (!got) co_return lost(got.error());
    session_->shared().note_success();
    co_return judge_head();
}

void http_call::end(base::fault why) {
    if (!ended_) ended_ = std::move(why);
    if (!answered_) response_.reset();
}

// Nobody pulls any more: what the upstream has asked meanwhile is answered here.
void http_call::refuse_asked() {
    for (const auto& one : std::exchange(ready_, {})) {
        if (one.message.is_request()) session_->answer(answer_to(one.message));
    }
}

void http_call::interrupt() {
    interrupted_ = true;
    refuse_asked();
    if (response_) response_->cancel();
    errand_over_.wake();
}

aio::task<> http_call::cancel(std::string reason_json) {
    auto me = shared_from_this();
    interrupt();
    bool over = answered_ || ended_ || !sent_ || opening_;
    if (over || !session_->usable()) {
        response_.reset();
        co_return;
    }
    ended_ = base::fault(base::errc::cancelled, "called off");
    auto until = aio::clock::now() + farewell;
    [[maybe_unused]] auto told = co_await session_->post(make_cancelled(id_, reason_json), until);
    auto& shared = session_->shared();
    late_ = response_ && !shared.stopped && shared.helpers.size() < most_helpers;
    if (late_) {
        shared.helpers.spawn(hear_out(me));
    } else {
        response_.reset();
    }
}

void http_call::abandon() {
    abandoned_ = true;
    refuse_asked();
    if (late_) return;
    auto& shared = session_->shared();
    bool worth_draining = answered_ && response_ && !response_->done() && !interrupted_;
    if (worth_draining && !shared.stopped) shared.helpers.spawn(drain(std::move(response_)));
    response_.reset();
    errand_over_.wake();
}

} // namespace sluice::upstream
