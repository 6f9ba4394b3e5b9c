#include "gateway/relay.hpp"

#include "gateway/links.hpp"
#include "gateway/questions.hpp"
#include "mcp/errors.hpp"
#include "mcp/url_required.hpp"
#include "upstream/handshake.hpp"

#include <algorithm>
#include <exception>
#include <stdexcept>

namespace sluice::gateway {

namespace {

// A notification of the upstream on this call's stream, for the host.
void pass_note(house& in, operation& op, const wire::message& note) {
    if (note.method_is("notifications/progress")) {
        if (!op.message->progress_token.present()) return;
        auto token = op.message->view(op.message->progress_token);
        auto bytes = wire::rewrite(note, {{note.progress_token, token}});
        op.call->out().push_progress(std::move(bytes), op.call->number());
        in.meters.progress_relayed();
        return;
    }
    if (note.method_is("notifications/message") && !asked_for_level(*op.host, note, false)) return;
    op.call->out().push_note(wire::rewrite(note, {}));
}

class waiting {
public:
    explicit waiting(operation& op) : op_(op), since_(aio::clock::now()) {}
    void done() { op_.waited += aio::clock::now() - since_; }

private:
    operation& op_;
    aio::instant since_;
};

// One answer being pulled.
struct pulling {
    std::size_t server = 0;
    aio::duration silence{0};
    aio::instant end;
    bool relay_notes = true;
    aio::instant silent_since = aio::clock::now();
    shared_link link = {};
    std::unique_ptr<upstream::reply> reply = {};
    std::unique_ptr<questions> asked = {}; // made by the first question

    // Silence counts from the last message; an open question stops the clock (decision 10).
    aio::instant patience() {
        if (asked && asked->open() > 0) silent_since = aio::clock::now();
        if (asked) silent_since = std::max(silent_since, asked->last_settled());
        return std::min(silent_since + silence, end);
    }
};

// What a replica that goes on with this call must know of it (orphans.cpp).
void note_for_others(house& in, operation& op, std::size_t server, upstream::outgoing& request) {
    auto out = op.call->shared_out();
    out->note("server", in.names.server(server).name);
    if (op.message->progress_token.present())
        out->note("token", std::string(op.message->view(op.message->progress_token)));
    request.marked = [weak = std::weak_ptr(out)](std::string mark) {
        auto alive = weak.lock();
        if (!alive) return;
        alive->note("mark", std::move(mark));
        alive->flush_notes();
    };
}

base::fault cancelled() {
    return {base::errc::cancelled, "cancelled by the host"};
}

// The call had been cancelled when it was asked.
aio::task<> refuse_late(shared_link link, wire::message question) {
    auto until = aio::clock::now() + farewell;
    auto bytes = upstream::answer_to(question);
    [[maybe_unused]] auto sent = co_await link->notify(std::move(bytes), until);
}

aio::task<base::result<wire::message>> pull_steps(house& in, shared_operation op, pulling& p) {
    session::call::watch on_cancel(*op->call, [r = p.reply.get()] { r->interrupt(); });
    for (;;) {
        auto until = p.patience();
        waiting wait(*op);
        auto step = co_await p.reply->next(until);
        wait.done();
        if (op->first_byte == aio::duration::zero())
            op->first_byte = aio::clock::now() - op->arrived;
        if (op->call->is_cancelled()) {
            bool asked = step && step->message.is_request();
            if (asked) co_await refuse_late(p.link, std::move(step->message));
            co_return cancelled();
        }
        if (!step) {
            // Only a wait that really lasted until its end may be taken up again: a reply that
            // ended with a timeout of its own answers at once, for ever.
            auto now = aio::clock::now();
            bool early =
                step.error().code == base::errc::timeout && now >= until && now < p.patience();
            if (early) continue;
            co_return step.error();
        }
        if (!step->mark.empty()) op->call->out().note("mark", std::move(step->mark));
        if (step->what == upstream::step::kind::pause) {
            if (p.relay_notes && mcp::allows_priming(op->host->who().revision)) {
                op->call->out().push_pause(step->retry_ms);
            }
            continue;
        }
        if (step->message.is_response()) co_return std::move(step->message);
        p.silent_since = aio::clock::now();
        if (step->message.is_request()) {
            if (!p.asked) p.asked = std::make_unique<questions>(in, op, p.server, p.link);
            co_await p.asked->take(std::move(step->message), step->presumed);
        } else if (is_list_change(step->message)) {
            in.lists.forget(in.servers[p.server]->number);
            auto note = wire::rewrite(step->message, {});
            auto& told = links_of(in, *op->host).of_lists();
            co_await told.tell_in(
                op->call->shared_out(), step->message.method_text(), std::move(note)
            );
        } else if (step->message.method_is("notifications/cancelled")) {
            if (p.asked) p.asked->withdrawn(step->message);
        } else if (p.relay_notes) {
            pass_note(in, *op, step->message);
        }
    }
}

aio::task<base::result<wire::message>> pull(house& in, shared_operation op, pulling p) {
    base::result<wire::message> got;
    std::exception_ptr crash;
    try {
        got = co_await pull_steps(in, op, p);
    } catch (...) {
        crash = std::current_exception();
    }
    if (p.asked) co_await p.asked->close();
    if (crash) std::rethrow_exception(crash);
    if (!got && got.error().code == base::errc::cancelled)
        co_await p.reply->cancel(op->call->reason());
    if (!got && got.error().code == base::errc::timeout) co_await p.reply->cancel("\"timeout\"");
    co_return got;
}

// `call` ends the waiting when it is cancelled; null where the upstream must be told of that.
aio::task<base::result<void>>
open_link(house& in, shared_operation op, pulling& p, std::shared_ptr<session::call> call) {
    waiting opening(*op);
    auto& links = links_of(in, *op->host);
    auto link =
        co_await links.ensure(in.servers[p.server], op->headers, p.patience(), std::move(call));
    opening.done();
    if (!link) co_return link.error();
    p.link = std::move(*link);
    p.silent_since = aio::clock::now();
    co_return base::result<void>{};
}

using sending = aio::task<base::result<std::unique_ptr<upstream::reply>>>;

// The answer to what goes out on p.link.
aio::task<base::result<wire::message>>
answer_to(house& in, shared_operation op, pulling p, sending request) {
    waiting sent(*op);
    auto reply = co_await std::move(request);
    sent.done();
    if (!reply) co_return reply.error();
    if (op->call->is_cancelled()) {
        co_await (*reply)->cancel(op->call->reason());
        co_return cancelled();
    }
    p.reply = std::move(*reply);
    p.silent_since = aio::clock::now();
    auto pulled = co_await pull(in, op, std::move(p));
    co_return pulled;
}

} // namespace

base::result<policy::grant> may_ask(house& in, const operation& op, std::size_t server) {
    return in.authoriser.authorise(
        op.caller, in.names.server(server), policy::item_kind::server, {}
    );
}

aio::task<base::result<wire::message>> ask(house& in, shared_operation op, request_to what) {
    const auto& server = in.names.server(what.server);
    if (what.allowed.server() != server.name || what.allowed.who() != op->caller)
        throw std::logic_error("a request with the grant of another");
    pulling p{what.server, what.silence, aio::clock::now() + what.longest, what.relay_notes};
    auto opened = co_await open_link(in, op, p, op->call);
    if (!opened) co_return opened.error();
    if (op->call->is_cancelled()) co_return cancelled();
    upstream::outgoing request;
    request.message = op->message;
    request.edits = what.edits;
    request.headers = headers_for(server, op->headers.get());
    request.again = op->method->safe_to_repeat ? upstream::repeat::once : upstream::repeat::never;
    request.until = p.patience();
    bool one_answer = op->method->how == mcp::handling::target;
    if (one_answer && op->host->is_kept()) note_for_others(in, *op, what.server, request);
    auto sent = p.link->call(std::move(request));
    auto answer = co_await answer_to(in, op, std::move(p), std::move(sent));
    co_return answer;
}

aio::task<base::result<wire::message>>
ask_on(house& in, shared_operation op, std::size_t server, std::string mark) {
    const auto& limits = in.names.server(server);
    pulling p{server, limits.timeout, aio::clock::now() + limits.max_timeout};
    auto opened = co_await open_link(in, op, p, nullptr);
    if (!opened) co_return opened.error();
    upstream::outgoing request;
    request.message = op->message;
    request.until = p.patience();
    note_for_others(in, *op, server, request);
    auto sent = p.link->resume(std::move(mark), std::move(request));
    auto answer = co_await answer_to(in, op, std::move(p), std::move(sent));
    co_return answer;
}

void finish(operation& op, std::string response, int http_status) {
    if (op.call->is_cancelled()) return;
    op.call->out().push_final(std::move(response), http_status);
}

namespace {

// For a host that does not know what its server wants.
void deliver_wanted_visits(operation& op, std::string_view error) {
    if (op.method->id == mcp::method::tools_call) {
        finish(op, wire::make_result(op.host_id(), mcp::url_required_result(error)));
        return;
    }
    auto data = wire::object_view(error).find("data").value_or("");
    auto text = mcp::url_required_message(error);
    finish(op, wire::make_error(op.host_id(), mcp::code_internal, text, data));
}

} // namespace

void deliver(operation& op, const wire::message& response) {
    if (response.kind == wire::message_kind::error) op.outcome = "rpc_error";
    if (response.is_error) op.outcome = "tool_error";
    if (!response.id.present()) {
        // An error whose sender could not read the id it answers: say it with ours.
        deliver_error(op, mcp::code_internal, "the upstream answered with an error that has no id");
        return;
    }
    bool wants_visits = response.view(response.error_code) == mcp::code_url_required;
    if (wants_visits && op.host->who().revision < mcp::revision::r4) {
        deliver_wanted_visits(op, response.view(response.error));
        return;
    }
    finish(op, wire::rewrite(response, {{response.id, op.host_id()}}));
}

void deliver_error(
    operation& op, int code, std::string_view text, std::string_view data, int status
) {
    if (op.outcome == "ok") op.outcome = "refused";
    finish(op, wire::make_error(op.host_id(), code, text, data), status);
}

void deliver_fault(house& in, operation& op, std::size_t server, const base::fault& f) {
    if (f.code == base::errc::cancelled) {
        op.outcome = "cancelled";
        return;
    }
    in.servers[server]->server->report(op.method->text, f);
    auto how = base::outcome_of(f);
    op.outcome = std::string(name_of(how));
    op.problem = f.message;
    const auto& name = in.names.server(server).name;
    auto data = "{\"server\":" + wire::quote(name) + ",\"outcome\":\"" + op.outcome + "\"}";
    int status = op.scope.single ? mcp::http_status_of(how, f) : 0;
    deliver_error(op, mcp::code_internal, mcp::sentence_for(name, how, f), data, status);
}

} // namespace sluice::gateway
