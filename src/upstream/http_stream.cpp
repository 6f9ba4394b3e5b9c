// The streaming half of http_call: events in, streams that end too early, and the errands that put
// a call on its way again.
#include "aio/within.hpp"
#include "upstream/handoff.hpp"
#include "upstream/handshake.hpp"
#include "upstream/http_call.hpp"

#include <algorithm>

namespace sluice::upstream {

namespace {

constexpr std::uint32_t most_fruitless = 8;
constexpr std::uint32_t longest_retry_ms = 60'000;
constexpr std::uint32_t soon_ms = 100;
// How long the end of a stream that has said everything may take before its connection is given up.
constexpr auto drain_time = std::chrono::milliseconds(500);
// How long a call that was called off may take to end by itself before its connection is cut: some
// servers take the cut for a second cancel.
constexpr auto late_time = std::chrono::seconds(5);

constexpr auto nap = std::chrono::milliseconds(5);

} // namespace

aio::task<http_call::moved> http_call::take_events(aio::instant until) {
    auto piece = co_await response_->read_some(until);
    if (!piece) {
        if (piece.error().code != base::errc::closed) co_return piece.error();
        co_return stream_ended(false);
    }
    if (piece->empty()) co_return stream_ended(true);
    decoder_->feed(*piece);
    while (auto event = decoder_->next()) {
        auto taken = take_event(std::move(*event));
        if (!taken || answered_) co_return taken;
    }
    while (session_->is_behind() && !interrupted_ && aio::clock::now() < until)
        co_await aio::pause(nap);
    if (!room_.grow_to(decoder_->held())) co_return no_room();
    if (decoder_->too_big()) co_return too_large();
    // The last piece may have brought the end with it.
    if (response_->done()) co_return stream_ended(true);
    co_return moved();
}

http_call::moved http_call::take_event(wire::sse_event event) {
    if (event.has_id && is_sendable_id(event.id)) {
        if (event.id != last_event_id_) fruitless_ = 0;
        last_event_id_ = event.id;
        // Not past messages that are still to be passed on.
        if (event.data.empty() && ready_.empty()) tell_mark();
    }
    if (event.retry_ms) retry_ms_ = std::min(*event.retry_ms, longest_retry_ms);
    if (event.data.empty()) return {}; // a priming event
    fruitless_ = 0;
    if (!event.event.empty() && event.event != "message") return {};
    auto done = deliver_text(std::move(event.data), room_.hand_over());
    bool marks = request_.marked && !ready_.empty() && !last_event_id_.empty();
    if (marks) ready_.back().mark = make_mark({id_, last_event_id_});
    return done;
}

void http_call::tell_mark() const {
    if (request_.marked) request_.marked(make_mark({id_, last_event_id_}));
}

// An upstream may close a stream at will once an event had an id; the rest is fetched by GET.
http_call::moved http_call::stream_ended(bool on_purpose) {
    if (last_event_id_.empty()) return outcome_unknown("the stream ended without the answer");
    if (++fruitless_ > most_fruitless) return outcome_unknown("the stream was resumed in vain");
    if (on_purpose) {
        step out;
        out.what = step::kind::pause;
        out.retry_ms = retry_ms_;
        ready_.push_back(std::move(out));
    }
    return start(resume(shared_from_this()));
}

// The connection broke before the head of an answer.
http_call::moved http_call::lost(base::fault why) {
    if (why.code != base::errc::closed) return why;
    if (resuming_) return stream_ended(false);
    if (request_.again != repeat::once || repeated_)
        return outcome_unknown("the connection was lost before an answer");
    repeated_ = true;
    return start(send_again(shared_from_this(), true));
}

http_call::moved http_call::start(aio::task<> job) {
    response_.reset();
    phase_ = phase::errand;
    session_->shared().helpers.spawn(std::move(job));
    return {};
}

void http_call::errand_done(base::result<std::unique_ptr<net::client_response>> response) {
    if (ended_ || abandoned_) return; // called off meanwhile: dropping the response closes it
    if (response) {
        response_ = std::move(*response);
        phase_ = phase::head;
    } else {
        end(response.error());
    }
    errand_over_.wake();
}

aio::task<> http_call::send_again(self me, bool fresh) {
    co_await aio::keep_running_when_cancelled();
    if (me->late_) co_return;
    auto post = me->make_post(fresh);
    auto response = co_await me->session_->pool().begin(std::move(post), me->request_.until);
    me->errand_done(std::move(response));
}

// The 404 proves that nothing ran.
aio::task<> http_call::renew_and_send(self me, std::uint64_t forgotten) {
    co_await aio::keep_running_when_cancelled();
    if (me->late_) co_return;
    me->renewed_ = true;
    auto renewed = co_await me->session_->renew(forgotten, me->request_.until);
    if (!renewed) {
        me->errand_done(renewed.error());
        co_return;
    }
    me->generation_ = me->session_->generation();
    if (me->interrupted_ || me->abandoned_) {
        me->errand_done(base::fault(base::errc::cancelled, "called off"));
        co_return;
    }
    auto post = me->make_post(false);
    auto response = co_await me->session_->pool().begin(std::move(post), me->request_.until);
    me->errand_done(std::move(response));
}

void http_call::resume_at(std::string id, std::string last_event_id) {
    id_ = std::move(id);
    last_event_id_ = std::move(last_event_id);
    generation_ = session_->generation();
    retry_ms_ = soon_ms; // until the upstream names its own
    sent_ = true;
    [[maybe_unused]] auto begun = start(resume(shared_from_this()));
}

aio::task<> http_call::resume(self me) {
    co_await aio::keep_running_when_cancelled();
    me->resuming_ = true;
    for (;;) {
        // Grows when the server is away; else what it asked for.
        auto wait = std::chrono::milliseconds(me->retry_ms_) * std::max(1U, me->fruitless_);
        co_await aio::pause(wait);
        if (me->interrupted_ || me->abandoned_ || me->session_->shared().stopped) {
            me->errand_done(base::fault(base::errc::cancelled, "called off"));
            co_return;
        }
        auto get = me->session_->make_get(me->last_event_id_);
        auto until = aio::clock::now() + me->session_->shared().settings.connect_timeout;
        auto response = co_await me->session_->pool().begin(std::move(get), until);
        bool give_up = response || ++me->fruitless_ > most_fruitless;
        if (!give_up) continue;
        if (!response) response = outcome_unknown("the stream could not be resumed");
        me->errand_done(std::move(response));
        co_return;
    }
}

// The upstream knows that the call is off; what it still says is dropped, a late result counted.
aio::task<> http_call::hear_out(self me) {
    co_await aio::keep_running_when_cancelled();
    auto until = aio::clock::now() + late_time;
    me->response_->go_on();
    while (!me->answered_ && me->phase_ != phase::errand) {
        auto moved_on = co_await me->advance(until);
        me->refuse_asked();
        if (!moved_on || me->session_->shared().stopped) break;
    }
    if (me->answered_) ++me->session_->shared().numbers.late_results;
    me->response_.reset();
}

aio::task<> http_call::drain(std::unique_ptr<net::client_response> rest) {
    co_await aio::keep_running_when_cancelled();
    auto until = aio::clock::now() + drain_time;
    [[maybe_unused]] auto read = co_await net::read_all(*rest, 64 * 1024, until);
}

} // namespace sluice::upstream
