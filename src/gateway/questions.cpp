#include "gateway/questions.hpp"

#include "aio/within.hpp"
#include "gateway/calls_elsewhere.hpp"
#include "gateway/replicas.hpp"
#include "mcp/client_capabilities.hpp"
#include "mcp/errors.hpp"
#include "upstream/handshake.hpp"
#include "wire/message.hpp"

#include <algorithm>

namespace sluice::gateway {

namespace {

// How often a waiting question looks whether its host is still there.
constexpr auto look_every = std::chrono::seconds(1);
// Of one call: questions at the host at once, and coroutines that also count refusals being told;
// over that the call itself waits until each refusal is told.
constexpr std::size_t most_open = 16;
constexpr std::size_t most_jobs = 128;
constexpr auto answer_limit = std::chrono::seconds(10);
constexpr auto farewell_limit = std::chrono::seconds(2); // somebody waits for the end of the call

base::fault too_many() {
    return {base::errc::too_many, std::string(upstream::flooded)};
}

} // namespace

std::string withdrawal_of(std::string_view ask_id, std::string_view reason) {
    std::string params = "{\"requestId\":";
    params.append(ask_id).append(",\"reason\":").append(wire::quote(reason)).append("}");
    return wire::make_notification("notifications/cancelled", params);
}

std::string open_questions_fact(std::uint32_t call) {
    return "asks:" + std::to_string(call);
}

questions::questions(house& in, shared_operation op, std::size_t server, shared_link link)
    : in_(in), op_(std::move(op)), server_(server), link_(std::move(link)),
      jobs_(op_->host->get_executor(), "gateway"),
      on_cancel_(*op_->call, [this] { withdraw_all(); }), last_settled_(aio::clock::now()) {}

aio::task<> questions::take(wire::message request, bool presumed) {
    auto asked = std::make_shared<const wire::message>(std::move(request));
    if (jobs_.size() < most_jobs) {
        ++open_;
        jobs_.spawn(relay(std::move(asked), presumed));
        co_return;
    }
    // It floods: no more of what it says is read until it has taken this.
    auto why = too_many();
    co_await refuse(std::move(asked), std::move(why));
}

base::result<void> questions::may_be_asked(const wire::message& request) const {
    const auto& server = in_.names.server(server_);
    mcp::allowed_questions allowed{
        server.allow_elicitation, server.allow_sampling, server.allow_roots
    };
    auto declared = mcp::declared_upstream(op_->host->who().capabilities, allowed);
    return mcp::can_answer(declared, request.method_text(), request.view(request.params));
}

// Of an upstream session that replicas share: whether calls of it run elsewhere, which the question
// may be of.
aio::task<base::result<void>> questions::belongs_here() const {
    if (!op_->host->is_kept()) co_return base::result<void>();
    auto others = co_await calls_elsewhere(in_, op_->host, in_.names.server(server_).name);
    if (others && others->empty()) co_return base::result<void>();
    co_return base::fault(
        base::errc::invalid_params,
        "it cannot be told which call this request belongs to: other replicas of the gateway run "
        "calls of this session, too; ask on the call's own stream, or name its related-task"
    );
}

aio::task<> questions::relay(std::shared_ptr<const wire::message> request, bool presumed) {
    co_await aio::keep_running_when_cancelled();
    auto allowed = may_be_asked(*request);
    if (allowed && presumed) {
        allowed = co_await belongs_here();
    }
    if (allowed && closing_) allowed = base::fault(base::errc::cancelled, "the call has ended");
    if (allowed && open_ > most_open) allowed = too_many();
    if (allowed) {
        co_await put_to_host(request);
    } else {
        co_await refuse(request, allowed.error());
    }
    --open_;
    last_settled_ = aio::clock::now();
}

aio::task<> questions::put_to_host(std::shared_ptr<const wire::message> request) {
    auto method = request->method_text();
    auto id = request->id_token();
    auto ask = op_->host->questions().open(*id);
    auto field = session::session::ask_field(ask->id());
    state::fields mine;
    mine.emplace_back(field, in_.replicas.self());
    co_await op_->host->write_in_record(std::move(mine));
    auto begun = aio::clock::now();
    in_.meters.question_put(method);
    waiting_.emplace_back(*id, ask);
    note_open();
    op_->call->out().push_question(for_host(*request, *ask));
    auto answer = co_await wait_for_host(ask);
    std::erase_if(waiting_, [&](const auto& one) { return one.second == ask; });
    // Before anything is awaited: a cancel withdraws what is listed, and what is not was settled.
    if (!answer) withdraw(*ask, answer.error().message);
    note_open();
    op_->call->out().flush_notes();
    op_->host->questions().close(*ask);
    std::chrono::duration<double> waited = aio::clock::now() - begun;
    in_.meters.question_settled(method, waited.count());
    co_await op_->host->forget_in_record(std::move(field));
    if (ask->is_taken_back()) {
        in_.meters.question_ended(method, "taken_back");
    } else if (answer) {
        auto bytes = wire::rewrite(*answer, {{answer->id, request->view(request->id)}});
        [[maybe_unused]] auto sent =
            co_await link_->notify(std::move(bytes), aio::clock::now() + answer_limit);
        in_.meters.question_ended(method, "answered");
    } else {
        co_await refuse(request, answer.error());
    }
}

// Under our id. A host shows the gateway as the server: where the configuration wants it, the text
// that the person reads begins with the name of who really asks.
std::string questions::for_host(const wire::message& request, const session::ask& ask) const {
    std::vector<wire::edit> edits = {{request.id, ask.id().text()}};
    const auto& server = in_.names.server(server_);
    std::string label;
    if (server.label_elicitation && request.method_is("elicitation/create")) {
        auto text = wire::object_view(request.view(request.params)).find("message");
        if (text && wire::kind_of(*text) == wire::kind::string) {
            label = wire::quote("[" + server.name + "] ");
            auto at = static_cast<std::uint32_t>(text->data() - request.bytes.data()) + 1;
            auto inside = std::string_view(label).substr(1, label.size() - 2);
            edits.push_back({{at, at}, inside});
        }
    }
    return wire::rewrite(request, std::move(edits));
}

aio::task<base::result<wire::message>> questions::wait_for_host(std::shared_ptr<session::ask> ask) {
    auto until = aio::clock::now() + in_.names.server(server_).timeout;
    auto grace = in_.sessions.bounds().ask_resume_grace;
    for (;;) {
        auto slice = std::min(until, aio::clock::now() + look_every);
        auto answer = co_await ask->wait(slice);
        if (answer) co_return std::move(*answer);
        if (ask->is_taken_back())
            co_return base::fault(base::errc::cancelled, "the server takes the question back");
        auto now = aio::clock::now();
        const auto& out = op_->call->out();
        if (op_->call->is_cancelled() || closing_) {
            co_return base::fault(
                base::errc::cancelled, "the call that this question belongs to has ended"
            );
        }
        if (ask->is_dropped())
            co_return base::fault(base::errc::closed, "the client's session has ended");
        if (now >= until)
            co_return base::fault(base::errc::timeout, "the client did not answer in time");
        if (!out.is_read() && out.detached_at() + grace < now) {
            co_return base::fault(base::errc::closed, "the client has disconnected");
        }
    }
}

void questions::withdrawn(const wire::message& note) {
    auto id = note.request_id_token();
    if (!id) return;
    for (const auto& [asked_as, ask] : waiting_) {
        if (asked_as == *id) ask->take_back();
    }
}

void questions::withdraw(const session::ask& ask, std::string_view reason) {
    if (op_->call->is_cancelled()) return; // then withdraw_all has done it
    op_->call->out().push_note(withdrawal_of(ask.id().text(), reason));
}

void questions::withdraw_all() {
    for (const auto& [id, ask] : waiting_)
        op_->call->out().push_note(withdrawal_of(ask->id().text(), "the call was cancelled"));
}

void questions::note_open() {
    if (!op_->host->is_kept()) return;
    std::string all;
    for (const auto& [id, ask] : waiting_) {
        if (!all.empty()) all += ",";
        all.append("[").append(ask->id().text()).append(",").append(id.text()).append("]");
    }
    auto name = open_questions_fact(op_->call->number());
    op_->call->out().note(std::move(name), "[" + all + "]");
}

aio::task<> questions::refuse(std::shared_ptr<const wire::message> request, base::fault why) {
    auto bytes = wire::make_error(request->view(request->id), mcp::rpc_code_of(why), why.message);
    bool leaving = closing_ || op_->host->is_ending() || jobs_.size() >= most_jobs;
    auto until = aio::clock::now() + (leaving ? farewell_limit : answer_limit);
    [[maybe_unused]] auto sent = co_await link_->notify(std::move(bytes), until);
    in_.meters.question_ended(request->method_text(), name_of(why.code));
}

aio::task<> questions::close() {
    closing_ = true;
    // Not by cancelling: what is being told to the upstream must still reach it.
    for (const auto& [id, ask] : waiting_)
        ask->rouse();
    co_await jobs_.join();
}

} // namespace sluice::gateway
