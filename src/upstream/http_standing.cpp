// The half of http_session that has to do with its standing stream: opening it, and whose is what
// comes down it.
#include "upstream/handshake.hpp"
#include "upstream/http_call.hpp"
#include "upstream/http_listener.hpp"
#include "upstream/http_session.hpp"
#include "upstream/related_task.hpp"

#include <algorithm>

namespace sluice::upstream {

namespace {

// Of what came down the standing stream for a call whose puller is slow.
constexpr std::size_t most_injected = 256;

} // namespace

http_session::~http_session() {
    if (standing_) standing_->stop();
}

void http_session::open_standing() {
    if (!usable()) return;
    if (!standing_) standing_ = std::make_shared<http_listener>(shared_from_this(), core_);
    standing_->start();
}

void http_session::take_over_standing() {
    if (!usable()) return;
    if (!standing_) standing_ = std::make_shared<http_listener>(shared_from_this(), core_);
    standing_->count_as_stood();
    standing_->start();
}

net::client_request http_session::make_get(const std::string& last_event_id) const {
    net::client_request get;
    get.method = "GET";
    get.target = target_;
    get.headers = headers(request_.headers);
    get.headers.erase("Content-Type");
    get.headers.set("Accept", "text/event-stream");
    if (!last_event_id.empty()) get.headers.set("Last-Event-ID", last_event_id);
    return get;
}

void http_session::take_standing(std::string text) {
    std::vector<std::string> parts;
    if (wire::looks_like_batch(text)) {
        auto split = wire::split_batch(text);
        if (split) parts = std::move(*split);
    } else {
        parts.push_back(std::move(text));
    }
    if (parts.empty()) ++core_->numbers.stray_messages;
    for (auto& part : parts) {
        auto message = wire::parse_message(std::move(part));
        if (!message) ++core_->numbers.stray_messages;
        if (message) deliver_standing(std::move(*message));
    }
}

http_call* http_session::only_call() const {
    http_call* only = nullptr;
    for (auto* call : calls_) {
        if (!call->takes_questions()) continue;
        if (only != nullptr) return nullptr;
        only = call;
    }
    return only;
}

// The call that is about the task a request names; where it names none, the only call there is.
// Else nobody can say whose it is.
http_call* http_session::asker_of(const wire::message& question) const {
    auto task = related_task(question);
    if (!task) return only_call();
    for (auto* call : calls_) {
        if (call->takes_questions() && is_about_task(call->request(), *task)) return call;
    }
    return nullptr;
}

// A ping is answered here.
void http_session::deliver_standing(wire::message message) {
    if (message.is_notification()) return deliver_note(std::move(message));
    if (!message.is_request()) {
        ++core_->numbers.stray_messages;
        return;
    }
    auto* call = message.method_is("ping") ? nullptr : asker_of(message);
    bool presumed = !related_task(message);
    if (call != nullptr && call->inject(message, presumed)) return;
    bool of_none_here = !message.method_is("ping") && (!presumed || !has_calls());
    if (of_none_here && others_take(message)) return;
    answer(message);
}

bool http_session::has_calls() const {
    return std::any_of(calls_.begin(), calls_.end(), [](const http_call* call) {
        return call->takes_questions();
    });
}

bool http_session::others_take(const wire::message& message) {
    bool taken = false;
    hearers_.each([&](listener& who) { taken = taken || who.unclaimed(message); });
    return taken;
}

bool http_session::take_for_call(wire::message said) {
    auto* call = said.is_request() ? asker_of(said) : only_call();
    return call != nullptr && call->inject(std::move(said));
}

// Progress goes to the call whose token it names, the end of a question to the call it was asked
// in, anything else to those who listen.
void http_session::deliver_note(wire::message message) {
    if (message.method_is("notifications/progress")) {
        for (auto* call : calls_) {
            if (call->inject(message)) return;
        }
        ++core_->numbers.dropped_notes;
        return;
    }
    if (message.method_is("notifications/cancelled")) {
        auto* call = only_call();
        bool taken = call != nullptr && call->inject(message);
        if (!taken && !has_calls()) taken = others_take(message);
        if (!taken) ++core_->numbers.dropped_notes;
        return;
    }
    if (hearers_.empty()) ++core_->numbers.dropped_notes;
    hearers_.each([&](listener& who) { who.heard(message); });
}

bool http_call::takes_questions() const {
    return !opening_ && !answered_ && !ended_ && !interrupted_ && !abandoned_;
}

bool http_call::inject(wire::message message, bool presumed) {
    if (!takes_questions() || ready_.size() >= most_injected) return false;
    if (message.method_is("notifications/progress")) {
        bool ours = request_.message->progress_token.present() &&
                    message.view(message.progress_token) == id_;
        if (!ours) return false;
    }
    step out;
    out.message = std::move(message);
    out.presumed = presumed;
    ready_.push_back(std::move(out));
    if (response_) response_->nudge();
    errand_over_.wake();
    return true;
}

} // namespace sluice::upstream
