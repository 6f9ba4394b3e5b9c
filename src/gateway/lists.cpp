#include "gateway/lists.hpp"

#include "gateway/ask_page.hpp"
#include "gateway/continuing.hpp"
#include "gateway/fetch.hpp"
#include "gateway/lists_union.hpp"
#include "gateway/relay.hpp"
#include "mcp/errors.hpp"

namespace sluice::gateway {

namespace {

// A single server's page: its own answer, with the list and the cursor replaced where they must be.
aio::task<> deliver_page(
    house& in,
    shared_operation op,
    std::optional<position> from,
    wire::message answer,
    catalog::page page
) {
    auto server = op->scope.servers.front();
    auto rest = follow(in, *op, server, from ? &from->places.front() : nullptr, page);
    if (!rest) co_return;
    position next;
    next.pages = from ? from->pages : 1;
    next.deadline_ms = from ? from->deadline_ms : in.pages.new_deadline();
    if (rest->next) next.places.push_back(std::move(*rest->next));
    auto more = co_await seal_rest(in, op, std::move(next));
    if (!more) co_return;
    if (!page.changed && !more->cursor) {
        deliver(*op, answer);
        co_return;
    }
    auto result =
        catalog::with_items(answer.view(answer.result), op->method->list_key, page, more->cursor);
    auto bytes = wire::rewrite(answer, {{answer.id, op->host_id()}, {answer.result, result}});
    finish(*op, std::move(bytes));
}

aio::task<> run_single(house& in, shared_operation op, std::optional<position> from) {
    auto server = op->scope.servers.front();
    auto grant = may_ask(in, *op, server);
    if (!grant) {
        deliver_error(*op, mcp::rpc_code_of(grant.error()), grant.error().message);
        co_return;
    }
    auto what = list_call(in, std::move(*grant), server);
    what.relay_notes = true;
    if (from) what.edits.push_back({op->message->cursor, from->places.front().cursor});
    auto cursor = from ? from->places.front().cursor : std::string();
    auto answer = co_await ask_page(in, op, std::move(what), std::move(cursor));
    if (!answer) {
        deliver_fault(in, *op, server, answer.error());
        co_return;
    }
    if (answer->kind == wire::message_kind::error) {
        deliver(*op, *answer);
        co_return;
    }
    auto page = page_of(in, *op, *op->method, server, *answer);
    if (!page) {
        deliver_fault(in, *op, server, page.error());
        co_return;
    }
    if (!from) learn(in, *op, *op->method, server, *page);
    co_await deliver_page(in, op, std::move(from), std::move(*answer), std::move(*page));
}

} // namespace

aio::task<> run_list(house& in, shared_operation op) {
    if (op->scope.single) op->server = in.names.server(op->scope.servers.front()).name;
    std::optional<position> from;
    if (op->message->cursor.present()) {
        from = co_await open_cursor(in, op);
        if (!from) co_return;
    }
    if (op->scope.single) {
        co_await run_single(in, op, std::move(from));
    } else {
        co_await run_union(in, op, std::move(from));
    }
}

} // namespace sluice::gateway
