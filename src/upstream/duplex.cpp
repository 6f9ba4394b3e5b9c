#include "upstream/duplex.hpp"

#include "base/text.hpp"
#include "upstream/handshake.hpp"
#include "upstream/related_task.hpp"
#include "upstream/room.hpp"

#include <algorithm>
#include <utility>

namespace sluice::upstream {

namespace {

// What one slow reader may leave unread before its notes are thinned out.
constexpr std::size_t queue_length = 256;
constexpr std::size_t queue_bytes = 4 * 1024 * 1024;

bool is_progress(const wire::message& message) {
    return message.method_is("notifications/progress");
}

} // namespace

class duplex::answer final : public reply {
public:
    answer(
        std::shared_ptr<duplex> of,
        std::uint64_t id,
        std::shared_ptr<waiting> call,
        std::unique_ptr<counted> place
    )
        : of_(std::move(of)), id_(id), call_(std::move(call)), place_(std::move(place)) {}
    // What still comes for this id is late and dropped.
    ~answer() override { of_->waiting_.erase(id_); }

    aio::task<base::result<step>> next(aio::instant until) override {
        auto call = call_;
        for (;;) {
            if (call->interrupted) co_return base::fault(base::errc::cancelled, "called off");
            if (!call->queue.empty()) {
                step out;
                out.message = std::move(call->queue.front());
                call->queue.pop_front();
                call->bytes -= out.message.bytes.size();
                co_return out;
            }
            if (call->ended) co_return *call->ended;
            bool came = co_await call->came.wait(until);
            if (!came && call->queue.empty() && !call->ended)
                co_return base::fault(base::errc::timeout, "no answer in time");
        }
    }

    // What the upstream has asked meanwhile is answered here: nobody pulls any more.
    void interrupt() override {
        call_->interrupted = true;
        for (const auto& one : std::exchange(call_->queue, {})) {
            if (one.is_request()) of_->tell(answer_to(one));
        }
        call_->came.wake();
    }

    aio::task<> cancel(std::string reason_json) override {
        interrupt();
        bool waits = of_->waiting_.erase(id_) != 0;
        if (!waits || call_->ended || call_->own) co_return;
        [[maybe_unused]] auto sent = of_->put(make_cancelled(std::to_string(id_), reason_json), 0);
    }

private:
    std::shared_ptr<duplex> of_;
    std::uint64_t id_;
    std::shared_ptr<waiting> call_;
    std::unique_ptr<counted> place_;
};

base::result<std::unique_ptr<reply>> duplex::begin(const outgoing& request, bool own) {
    if (!usable()) return base::fault(base::errc::unreachable, "the session has ended");
    auto place = take_place(core_);
    if (!place) return place.error();
    auto id = next_id_++;
    auto call = std::make_shared<waiting>(core_->around.loop.get_executor());
    call->has_token = request.message->progress_token.present();
    call->own = own;
    call->request = request.message;
    waiting_.emplace(id, call);
    auto sent = put(for_this_hop(request, std::to_string(id)), id);
    if (!sent) {
        waiting_.erase(id);
        return sent.error();
    }
    return std::unique_ptr<reply>(
        std::make_unique<answer>(shared_from_this(), id, std::move(call), std::move(*place))
    );
}

aio::task<base::result<std::unique_ptr<reply>>> duplex::call(outgoing request) {
    co_return begin(request, false);
}

aio::task<base::result<void>> duplex::notify(std::string bytes, aio::instant) {
    if (!usable()) co_return base::fault(base::errc::unreachable, "the session has ended");
    wire::flatten(bytes);
    co_return put(std::move(bytes), 0);
}

aio::task<base::result<void>> duplex::open_session(open_request request) {
    auto message = make_initialize(request);
    if (!message) co_return message.error();
    outgoing ask;
    ask.message = std::make_shared<const wire::message>(std::move(*message));
    auto begun = begin(ask, true);
    if (!begun) co_return begun.error();
    for (;;) {
        auto step = co_await (*begun)->next(request.until);
        if (!step) co_return step.error();
        if (!step->message.is_response()) continue;
        auto peer = read_initialize(step->message);
        if (!peer) co_return peer.error();
        peer_ = std::move(*peer);
        co_return put(initialized_text, 0);
    }
}

void duplex::take(std::string bytes, std::shared_ptr<const void> held) {
    if (wire::looks_like_batch(bytes)) {
        auto parts = wire::split_batch(bytes);
        if (!parts) ++core_->numbers.stray_messages;
        if (!parts) return;
        for (auto& part : *parts)
            take(std::move(part), held);
        return;
    }
    wire::unaccepted known;
    auto message = wire::parse_message(std::move(bytes), {}, known);
    if (message) {
        message->held = std::move(held);
        return deliver(std::move(*message));
    }
    if (known.is_call) return set_aside(known, message.error());
    // Something that is no message: if it answers one of ours, that call ends; else it is noise.
    ++core_->numbers.stray_messages;
    auto number = base::parse_unsigned(known.id);
    if (number && waiting_.contains(*number)) fail(*number, broke_protocol(message.error()));
}

// Not well formed: it concerns nobody but its sender.
void duplex::set_aside(const wire::unaccepted& what, const base::fault& why) {
    if (what.id.empty()) {
        ++core_->numbers.dropped_notes;
        return;
    }
    tell(refusal_of(what, why));
}

// What it asked is answered, unless it takes nothing.
void duplex::tell(std::string answer) {
    auto sent = put(std::move(answer), 0);
    if (!sent && !core_->stopped) core_->leave_unanswered(1);
}

void duplex::refuse(std::string_view beginning, const base::fault& why) {
    auto id = wire::response_id_of(beginning);
    auto number = base::parse_unsigned(id.value_or(""));
    if (number) return fail(*number, why);
    if (id) { // a note or a question
        ++core_->numbers.dropped_notes;
        return;
    }
    while (!waiting_.empty())
        fail(waiting_.begin()->first, why);
}

void duplex::deliver(wire::message message) {
    if (message.is_request()) return deliver_question(std::move(message));
    if (message.is_notification()) return deliver_note(std::move(message));
    auto number = base::parse_unsigned(message.view(message.id));
    auto found = number ? waiting_.find(*number) : waiting_.end();
    if (found == waiting_.end()) {
        bool ours = number && *number > 0 && *number < next_id_;
        ++(ours ? core_->numbers.late_results : core_->numbers.stray_messages);
        return;
    }
    auto call = found->second;
    waiting_.erase(found);
    call->bytes += message.bytes.size();
    call->queue.push_back(std::move(message));
    call->ended = base::fault(base::errc::closed, "the answer is complete");
    call->came.wake();
}

// The call that is about the task a request names; where it names none, the only call there is.
// Else nobody can say whose it is (every progress of a call names it, a request does not).
std::shared_ptr<duplex::waiting> duplex::asker_of(const wire::message& question) const {
    if (auto task = related_task(question)) {
        auto found = std::find_if(waiting_.begin(), waiting_.end(), [&](const auto& one) {
            return is_about_task(*one.second->request, *task);
        });
        return found == waiting_.end() ? nullptr : found->second;
    }
    bool attributable = waiting_.size() == 1 && !waiting_.begin()->second->own;
    return attributable ? waiting_.begin()->second : nullptr;
}

// A ping is answered here.
void duplex::deliver_question(wire::message message) {
    auto call = asker_of(message);
    bool nobody = !call || call->interrupted || message.method_is("ping");
    if (nobody) return tell(answer_to(message));
    if (call->queue.size() >= queue_length) return tell(answer_to_flood(message));
    call->bytes += message.bytes.size();
    call->queue.push_back(std::move(message));
    call->came.wake();
}

// Progress goes to the call whose token it names; what is said of the whole session to those who
// listen; anything else to the only call there is, else to those who listen.
void duplex::deliver_note(wire::message message) {
    std::shared_ptr<waiting> call;
    if (is_progress(message)) {
        auto number = base::parse_unsigned(message.view(message.progress_token));
        auto found = number ? waiting_.find(*number) : waiting_.end();
        if (found != waiting_.end() && found->second->has_token) call = found->second;
    } else {
        bool attributable = waiting_.size() == 1 && !waiting_.begin()->second->own;
        bool to_all = !attributable || is_of_session(message);
        if (to_all && !hearers_.empty()) {
            hearers_.each([&](listener& who) { who.heard(message); });
            return;
        }
        if (attributable) call = waiting_.begin()->second;
    }
    if (!call || !make_room(*call, message)) {
        ++core_->numbers.dropped_notes;
        return;
    }
    call->bytes += message.bytes.size();
    call->queue.push_back(std::move(message));
    call->came.wake();
}

bool duplex::make_room(waiting& in, const wire::message& note) {
    if (in.queue.size() < queue_length && in.bytes < queue_bytes) return true;
    if (!is_progress(note)) return false;
    auto older = std::find_if(in.queue.rbegin(), in.queue.rend(), is_progress);
    if (older == in.queue.rend()) return false;
    in.bytes -= older->bytes.size();
    in.queue.erase(std::next(older).base());
    return true;
}

void duplex::fail(std::uint64_t id, base::fault why) {
    auto found = waiting_.find(id);
    if (found == waiting_.end()) return;
    auto call = found->second;
    waiting_.erase(found);
    call->ended = std::move(why);
    call->came.wake();
}

void duplex::lose(const base::fault& why) {
    gone_ = true;
    auto all = std::move(waiting_);
    waiting_.clear();
    for (auto& [id, call] : all) {
        call->ended = why;
        call->came.wake();
    }
    auto told = std::exchange(hearers_, {});
    told.each([](listener& who) { who.lost(); });
}

} // namespace sluice::upstream
