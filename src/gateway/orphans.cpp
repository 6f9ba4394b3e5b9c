#include "gateway/orphans.hpp"

#include "gateway/links.hpp"
#include "gateway/questions.hpp"
#include "gateway/relay.hpp"
#include "gateway/replicas.hpp"
#include "mcp/errors.hpp"

#include <algorithm>

namespace sluice::gateway {

namespace {

constexpr std::string_view unknown_outcome =
    "outcome unknown: replica lost. The replica of the gateway that ran this call is gone, and the "
    "answer of upstream '";

// What the dead replica left of a call.
struct orphan {
    std::string id;     // the host's, JSON text
    std::string token;  // the host's progress token, JSON text; empty = none
    std::string mark;   // where the upstream's answer stood; empty = it cannot be gone on with
    std::string server; // name; empty = it had not been sent to one
};

// The host's request as far as it is needed to lead an answer back to it.
std::shared_ptr<const wire::message> request_of(const orphan& o) {
    std::string params = "{}";
    if (!o.token.empty()) params = "{\"_meta\":{\"progressToken\":" + o.token + "}}";
    auto parsed = wire::parse_message(wire::make_request(o.id, "tools/call", params));
    if (!parsed) return nullptr;
    return std::make_shared<const wire::message>(std::move(*parsed));
}

std::optional<std::size_t> server_called(const house& in, std::string_view name) {
    for (std::size_t i = 0; i < in.names.size(); ++i) {
        if (in.names.server(i).name == name) return i;
    }
    return std::nullopt;
}

// A question that stood open when its replica died. Whoever answers it now is not heard, so the
// host is told not to, and the upstream has an error.
struct left_question {
    std::string ours;   // JSON text
    std::string theirs; // the same
};

std::vector<left_question> left_questions(const session::tail& from) {
    std::vector<left_question> out;
    std::uint32_t call = 0;
    for ([[maybe_unused]] auto id : wire::array_view(from.fact("ids"))) {
        for (auto pair : wire::array_view(from.fact(open_questions_fact(call)))) {
            std::vector<std::string> both;
            for (auto one : wire::array_view(pair))
                both.emplace_back(one);
            if (both.size() == 2) out.push_back({std::move(both[0]), std::move(both[1])});
        }
        ++call;
    }
    return out;
}

aio::task<> refuse_left(
    [[maybe_unused]] std::shared_ptr<const void> under,
    house& in,
    std::shared_ptr<session::session> host,
    std::size_t server,
    std::vector<left_question> left
) {
    co_await aio::keep_running_when_cancelled();
    auto until = aio::clock::now() + in.names.server(server).initialize_timeout;
    auto link = co_await links_of(in, *host).ensure(in.servers[server], nullptr, until, nullptr);
    for (const auto& one : left) {
        auto id = wire::token::parse(one.ours);
        if (id) co_await host->forget_in_record(session::session::ask_field(*id));
        if (!link) continue;
        auto bytes = wire::make_error(
            one.theirs, mcp::code_internal, "the replica of the gateway that had asked is gone"
        );
        [[maybe_unused]] auto sent = co_await (*link)->notify(std::move(bytes), until);
    }
}

void end_unknown(house& in, session::stream& into, const orphan& o) {
    std::string text(unknown_outcome);
    text.append(o.server).append("' cannot be resumed; look what took effect before you repeat it");
    auto data = "{\"server\":" + wire::quote(o.server) + ",\"reason\":\"replica_lost\"}";
    into.push_final(wire::make_error(o.id, mcp::code_internal, text, data));
    ++in.numbers.orphans_unknown;
}

// The rest of the answer, as if it had been pulled here from its beginning.
aio::task<bool> go_on(
    house& in,
    std::shared_ptr<session::session> host,
    std::shared_ptr<session::stream> into,
    orphan o
) {
    auto server = server_called(in, o.server);
    auto message = request_of(o);
    if (o.mark.empty() || !server || !message) co_return false;
    auto id = message->id_token();
    auto call = host->begin_call(std::move(*id), into, 0);
    if (!call) co_return false;
    auto op = std::make_shared<operation>();
    op->under = in.enter();
    op->host = host;
    op->call = std::move(*call);
    op->message = std::move(message);
    op->method = &mcp::describe(mcp::method::tools_call);
    op->arrived = aio::clock::now();
    op->server = o.server;
    auto answer = co_await ask_on(in, op, *server, o.mark);
    bool whole = answer.ok();
    // Whose list would say what it should be is not known here: an adopted result is not checked.
    if (whole && in.names.server(*server).validate_output != upstream::output_check::off)
        in.meters.output_checked(o.server, "unchecked");
    if (whole) deliver(*op, *answer);
    if (op->call->is_cancelled()) whole = true; // its host wants it no more
    host->end_call(*op->call);
    if (whole) ++in.numbers.orphans_resumed;
    co_return whole;
}

aio::task<> finish_orphan(
    [[maybe_unused]] std::shared_ptr<const void> under,
    house& in,
    std::shared_ptr<session::session> host,
    std::shared_ptr<session::stream> into,
    orphan o
) {
    co_await aio::keep_running_when_cancelled();
    auto id = wire::token::parse(o.id);
    if (id) {
        state::fields mine;
        auto here = session::session::running_at(in.replicas.self(), into->handle());
        mine.emplace_back(session::session::call_field(*id), std::move(here));
        co_await host->write_in_record(std::move(mine));
    }
    bool whole = co_await go_on(in, host, into, o);
    if (!whole && id) co_await host->forget_in_record(session::session::call_field(*id));
    if (!whole) end_unknown(in, *into, o);
    into->end(session::ending::finished);
}

// Ids whose answers the log holds already: of a batch, some may have come.
aio::task<std::vector<std::string>> answered_in(session::session& host, std::string key) {
    std::vector<std::string> ids;
    auto page = co_await host.kept()->store().read_log(std::move(key), 0, 64 * 1024 * 1024);
    if (!page || !*page) co_return ids;
    for (auto& entry : (*page)->entries) {
        if (entry.kind != 'f') continue;
        auto parsed = wire::parse_message(std::move(entry.bytes));
        if (parsed && parsed->id.present()) ids.emplace_back(parsed->view(parsed->id));
    }
    co_return ids;
}

} // namespace

aio::task<> call_off_at_upstream(
    house& in, std::shared_ptr<session::session> host, std::string stream, std::string reason_json
) {
    auto& store = host->kept()->store();
    auto log = host->place_of_log(stream).key;
    auto name = co_await store.read_field(log, "server");
    auto mark = co_await store.read_field(log, "mark");
    if (!name || !*name || !mark || !*mark) co_return;
    auto server = server_called(in, **name);
    if (!server) co_return;
    auto until = aio::clock::now() + farewell;
    auto link = co_await links_of(in, *host).ensure(in.servers[*server], nullptr, until, nullptr);
    if (link) co_await (*link)->call_off(std::move(**mark), std::move(reason_json), until);
}

aio::task<bool> take_over_orphan(
    house& in,
    std::shared_ptr<session::session> host,
    session::tail& from,
    std::shared_ptr<session::stream> into
) {
    auto at = host->place_of_log(into->handle());
    auto log = host->make_journal(std::move(at));
    auto taken = co_await log->take_over(from.epoch());
    if (!taken) co_return false;
    host->kept()->holds_work(host->who().key);
    // What the dead one wrote after our last look; from now on it can write no more.
    for (int tries = 0; tries < 3; ++tries) {
        auto read = co_await from.pull(aio::clock::now());
        if (read) break;
    }
    if (from.has_ended()) co_return true;
    auto answered = co_await answered_in(*host, from.key());
    into->keep_on(std::move(log));
    auto asked = left_questions(from);
    auto server = server_called(in, from.fact("server"));
    for (const auto& one : asked)
        into->push_note(withdrawal_of(one.ours, "the replica that asked is gone"));
    if (!asked.empty() && server)
        host->spawn(refuse_left(in.enter(), in, host, *server, std::move(asked)));
    std::vector<orphan> left;
    for (auto id : wire::array_view(from.fact("ids"))) {
        if (std::find(answered.begin(), answered.end(), id) != answered.end()) continue;
        orphan o;
        o.id = std::string(id);
        o.server = std::string(from.fact("server"));
        left.push_back(std::move(o));
    }
    // What the log says of a call it can say of one only.
    if (left.size() == 1 && answered.empty()) {
        left.front().token = std::string(from.fact("token"));
        left.front().mark = std::string(from.fact("mark"));
        host->spawn(finish_orphan(in.enter(), in, host, into, std::move(left.front())));
        co_return true;
    }
    for (const auto& o : left)
        end_unknown(in, *into, o);
    into->end(session::ending::finished);
    co_return true;
}

} // namespace sluice::gateway
