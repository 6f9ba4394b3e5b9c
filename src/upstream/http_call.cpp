#include "upstream/http_call.hpp"

#include "base/text.hpp"
#include "upstream/handshake.hpp"

#include <algorithm>

namespace sluice::upstream {

namespace {

constexpr auto farewell = std::chrono::seconds(2);
constexpr std::size_t longest_refusal = 64 * 1024;
// Errands of one server beyond which called-off answers are cut instead of heard out.
constexpr std::size_t most_helpers = 256;

bool is_type(const net::response_head& head, std::string_view type) {
    auto value = head.headers.get("Content-Type").value_or("");
    return base::iequals(base::trim(value.substr(0, value.find(';'))), type);
}

base::fault outcome_unknown(std::string_view what) {
    return {base::errc::closed, std::string(what) + "; whether the request ran is not known"};
}

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
        if (interrupted_) co_return base::fault(base::errc::cancelled, "called off");
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

http_call::moved http_call::judge_head() {
    const auto& head = response_->head();
    int status = head.status;
    if (status >= 200 && status < 300) {
        if (opening_) session_id_ = head.headers.get("Mcp-Session-Id").value_or("");
        if (is_type(head, "text/event-stream")) {
            decoder_.emplace(session_->shared().settings.max_message_bytes + 1024);
            phase_ = phase::events;
            return {};
        }
        if (resuming_) return outcome_unknown("the stream could not be resumed");
        if (!is_type(head, "application/json"))
            return base::fault(base::errc::protocol, "it answered with neither JSON nor a stream");
        phase_ = phase::json;
        return {};
    }
    if (resuming_ && status >= 500) return stream_ended(false); // in a while, perhaps
    if (resuming_) return outcome_unknown("the stream could not be resumed");
    if (status == 401 || status == 403) return refused(status);
    if (status == 404 && session_->has_session() && !opening_ && !renewed_)
        return start(renew_and_send(shared_from_this(), generation_));
    if (status == 307 || status == 308) return redirected(head);
    if (status < 400) return refused(status);
    phase_ = phase::refusal;
    return {};
}

// Followed once, and only within the origin that the configuration names: credentials stay there.
http_call::moved http_call::redirected(const net::response_head& head) {
    auto to = head.headers.get("Location");
    if (redirected_ || !to) return refused(head.status);
    const auto& here = session_->pool().origin();
    auto there = here.resolve(*to);
    if (!there || !there->same_origin(here)) return refused(head.status);
    redirected_ = true;
    // 308 is for good, 307 for this request alone.
    if (head.status == 308)
        session_->move_to(there->target);
    else
        target_ = there->target;
    return start(send_again(shared_from_this(), false));
}

aio::task<http_call::moved> http_call::take_body(aio::instant until, std::size_t limit) {
    // Where the length is known, room is refused before the bytes come.
    auto length =
        base::parse_unsigned(response_->head().headers.get("Content-Length").value_or(""));
    if (length && *length <= limit && !room_.grow_to(*length)) co_return no_room();
    while (!response_->done()) {
        auto piece = co_await response_->read_some(until);
        if (!piece) co_return piece.error();
        if (piece->size() > limit - body_.size()) co_return too_large();
        if (body_.empty()) {
            body_ = std::move(*piece);
        } else {
            body_ += *piece;
        }
        if (!room_.grow_to(body_.size())) co_return no_room();
    }
    co_return moved();
}

aio::task<http_call::moved> http_call::take_json(aio::instant until) {
    auto whole = co_await take_body(until, session_->shared().settings.max_message_bytes);
    if (!whole) {
        if (whole.error().code == base::errc::closed)
            co_return outcome_unknown("its answer was cut off");
        co_return whole;
    }
    auto done = deliver_text(std::move(body_), room_.hand_over());
    if (!done) co_return done;
    if (!answered_) co_return base::fault(base::errc::protocol, "its answer holds no response");
    co_return done;
}

// Some servers send their JSON-RPC errors with a status of failure.
aio::task<http_call::moved> http_call::take_refusal(aio::instant until) {
    int status = response_->head().status;
    bool json = is_type(response_->head(), "application/json");
    auto whole = co_await take_body(until, longest_refusal);
    if (!whole && whole.error().code == base::errc::timeout) co_return whole;
    auto body = std::move(body_);
    if (whole && json && deliver_text(body, nullptr) && answered_) co_return moved();
    ready_.clear();
    // Older servers say so of a session that they have forgotten.
    bool about_session = status == 400 && base::lower(body).find("session") != body.npos;
    bool again = request_.again == repeat::once; // only a 404 proves that nothing ran
    if (about_session && again && session_->has_session() && !opening_ && !renewed_)
        co_return start(renew_and_send(shared_from_this(), generation_));
    co_return refused(status);
}

// One message, or a batch of them (2025-03-26).
http_call::moved http_call::deliver_text(std::string text, std::shared_ptr<const void> held) {
    if (!wire::looks_like_batch(text)) return deliver(std::move(text), std::move(held));
    auto parts = wire::split_batch(text);
    if (!parts) return broke_protocol(parts.error());
    for (auto& part : *parts) {
        auto done = deliver(std::move(part), held);
        if (!done) return done;
    }
    return {};
}

http_call::moved http_call::deliver(std::string text, std::shared_ptr<const void> held) {
    auto message = wire::parse_message(std::move(text));
    if (!message) return broke_protocol(message.error());
    message->held = std::move(held);
    if (message->is_request() && (answered_ || opening_ || message->method_is("ping"))) {
        session_->answer(*message);
        return {};
    }
    if (message->is_notification()) {
        bool progress = message->method_is("notifications/progress");
        bool ours = request_.message->progress_token.present() &&
                    message->view(message->progress_token) == id_;
        if (answered_ || (progress && !ours)) {
            ++session_->shared().numbers.dropped_notes;
            return {};
        }
    } else if (message->is_response()) {
        if (message->view(message->id) != id_)
            return base::fault(base::errc::protocol, "it answered a request that was not asked");
        answered_ = true;
    }
    step out;
    out.message = std::move(*message);
    ready_.push_back(std::move(out));
    if (answered_) end(base::fault(base::errc::closed, "the answer is complete"));
    return {};
}

void http_call::end(base::fault why) {
    if (!ended_) ended_ = std::move(why);
    if (!answered_) response_.reset();
}

void http_call::interrupt() {
    interrupted_ = true;
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
    if (late_) return;
    auto& shared = session_->shared();
    bool worth_draining = answered_ && response_ && !response_->done() && !interrupted_;
    if (worth_draining && !shared.stopped) shared.helpers.spawn(drain(std::move(response_)));
    response_.reset();
    errand_over_.wake();
}

} // namespace sluice::upstream
