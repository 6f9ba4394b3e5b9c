// The half of http_call that takes an answer: what its head says, a body that is one piece, and
// whose each message is. Streams are in http_stream.cpp.
#include "base/text.hpp"
#include "upstream/handshake.hpp"
#include "upstream/http_call.hpp"

namespace sluice::upstream {

namespace {

constexpr std::size_t longest_refusal = 64 * 1024;

bool is_type(const net::response_head& head, std::string_view type) {
    auto value = head.headers.get("Content-Type").value_or("");
    return base::iequals(base::trim(value.substr(0, value.find(';'))), type);
}

} // namespace

http_call::moved http_call::judge_head() {
    const auto& head = response_->head();
    int status = head.status;
    if (status >= 200 && status < 300) {
        if (opening_) session_id_ = head.headers.get("Mcp-Session-Id").value_or("");
        auto readable = is_readable(head);
        if (!readable) return readable;
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
    wire::unaccepted known;
    auto message = wire::parse_message(std::move(text), {}, known);
    if (!message && known.is_call) {
        session_->set_aside(known, message.error());
        return {};
    }
    if (!message) return broke_protocol(message.error());
    message->held = std::move(held);
    if (message->is_request() && (answered_ || opening_ || message->method_is("ping"))) {
        session_->answer(answer_to(*message));
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

} // namespace sluice::upstream
