#include "gateway/lists.hpp"

#include "base/text.hpp"
#include "gateway/fetch.hpp"
#include "gateway/pager.hpp"
#include "gateway/relay.hpp"
#include "mcp/errors.hpp"
#include "sys/digest.hpp"

#include <algorithm>
#include <iterator>

namespace sluice::gateway {

namespace {

listing listing_of(house& in, const operation& op) {
    std::string scope;
    for (auto server : op.scope.servers)
        scope += in.names.server(server).name + "\n";
    if (op.caller->tools) scope += base::join(*op.caller->tools, "\n");
    listing where;
    where.method = op.method->id;
    where.principal = op.caller->id;
    where.endpoint = op.scope.path;
    where.scope = base::hex(sys::sha256(scope)).substr(0, 32);
    where.registry = in.registry;
    return where;
}

void deliver_no_salt(operation& op, std::string_view what) {
    op.outcome = "config";
    deliver_error(
        op,
        mcp::code_internal,
        std::string(what) +
            ", and continuing a list needs a salt key: set salt_keys (or the environment variable "
            "SLUICE_SALT_KEY); `sluice gen-salt` makes one",
        R"({"reason":"no_salt_key","setting":"salt_keys"})"
    );
}

void deliver_bad_cursor(operation& op, const base::fault& f) {
    if (f.code != base::errc::invalid_params) {
        deliver_error(
            op,
            mcp::code_internal,
            "the store of listing positions is away; try the same cursor again",
            R"({"reason":"store_unavailable"})",
            503
        );
        return;
    }
    deliver_error(
        op,
        mcp::code_invalid_params,
        "this cursor cannot be used (" + f.message + "): list again from the start",
        "{\"reason\":" + wire::quote(f.message) + "}"
    );
}

// The position a host's cursor means; nothing when it was refused (and the host told so).
aio::task<std::optional<position>> open_cursor(house& in, shared_operation op) {
    if (!in.pages.can_continue()) {
        deliver_no_salt(*op, "this gateway issued no cursors");
        co_return std::nullopt;
    }
    auto cursor = op->message->string_at(op->message->cursor);
    auto where = listing_of(in, *op);
    auto at = co_await in.pages.open(std::move(where), cursor.value_or(std::string()));
    if (!at) {
        deliver_bad_cursor(*op, at.error());
        co_return std::nullopt;
    }
    co_return std::move(*at);
}

// What follows a page of one upstream: its next place, or a fault when the listing cannot go on.
base::result<std::optional<place>>
next_place(const std::string& server, const place* before, const catalog::page& page) {
    if (before != nullptr && before->revision && page.revision != before->revision) {
        return base::fault(base::errc::invalid_params, "changed");
    }
    if (!page.next_cursor) return std::optional<place>();
    place next;
    next.server = server;
    next.cursor = *page.next_cursor;
    next.revision = before != nullptr ? before->revision : page.revision;
    if (before != nullptr) next.seen = before->seen;
    auto digest = base::fnv1a(next.cursor);
    if (std::find(next.seen.begin(), next.seen.end(), digest) != next.seen.end()) {
        return base::fault(base::errc::protocol, "its list repeats a cursor and would never end");
    }
    next.seen.push_back(digest);
    return std::optional(std::move(next));
}

// Seals what is left of a listing. Nothing when the host was told why it cannot go on.
aio::task<base::result<std::optional<std::string>>>
seal_rest(house& in, shared_operation op, position next) {
    if (next.places.empty()) co_return std::optional<std::string>();
    if (++next.pages > in.pages.settings().max_pages) {
        co_return base::fault(
            base::errc::protocol,
            "the listing is longer than catalog.max_pages (" +
                std::to_string(in.pages.settings().max_pages) + " pages)"
        );
    }
    auto where = listing_of(in, *op);
    auto sealed = co_await in.pages.issue(std::move(where), std::move(next));
    if (!sealed) co_return sealed.error();
    co_return std::optional(std::move(*sealed));
}

catalog::server_outcome outcome_for(house& in, const part& p) {
    catalog::server_outcome o;
    o.server = in.names.server(p.server).name;
    if (p.left_out) return o;
    if (p.got) {
        o.count = p.got->items.size();
        return o;
    }
    o.how = base::outcome_of(p.got.error());
    o.http_status = p.got.error().http_status;
    return o;
}

void deliver_nothing(
    house& in,
    operation& op,
    const std::vector<part>& parts,
    const std::vector<catalog::server_outcome>& outcomes
) {
    std::string text = "no upstream could be listed:";
    for (const auto& p : parts) {
        if (p.left_out || p.got) continue;
        auto how = base::outcome_of(p.got.error());
        text += " " + mcp::sentence_for(in.names.server(p.server).name, how, p.got.error()) + ";";
        op.outcome = std::string(name_of(how));
    }
    text.pop_back();
    deliver_error(op, mcp::code_internal, text, catalog::outcomes_meta(outcomes));
}

// The upstreams that a page asks, and where each stood.
struct page_plan {
    std::vector<part> parts;
    std::optional<position> from; // nothing on page 1

    const place* before(std::size_t index) const { return from ? &from->places[index] : nullptr; }
};

base::result<page_plan> plan_page(house& in, const operation& op, std::optional<position> from) {
    page_plan plan;
    if (!from) {
        plan.parts = first_pages_of(op.scope.servers);
        return plan;
    }
    for (const auto& p : from->places) {
        auto it =
            std::find_if(op.scope.servers.begin(), op.scope.servers.end(), [&](std::size_t s) {
                return in.names.server(s).name == p.server;
            });
        if (it == op.scope.servers.end()) return base::fault(base::errc::invalid_params, "changed");
        part asked;
        asked.server = *it;
        asked.cursor = p.cursor;
        plan.parts.push_back(std::move(asked));
    }
    plan.from = std::move(from);
    return plan;
}

// The union of one page of each; decision 20: a failure on a later page is an error, never a gap.
aio::task<> deliver_union(house& in, shared_operation op, page_plan plan) {
    std::vector<catalog::server_outcome> outcomes;
    std::vector<std::string> items;
    std::size_t failed = 0;
    std::size_t asked = 0;
    position next;
    next.pages = plan.from ? plan.from->pages : 1;
    next.deadline_ms = plan.from ? plan.from->deadline_ms : in.pages.new_deadline();
    if (plan.from) next.others = plan.from->others;
    outcomes.reserve(next.others.size() + plan.parts.size());
    for (const auto& o : next.others)
        outcomes.push_back({o.server, o.how, 0, o.http_status});
    for (std::size_t i = 0; i < plan.parts.size(); ++i) {
        auto& p = plan.parts[i];
        const auto& name = in.names.server(p.server).name;
        outcomes.push_back(outcome_for(in, p));
        bool goes_on = p.got && p.got->next_cursor && !p.left_out;
        if (!goes_on)
            next.others.push_back({name, outcomes.back().how, outcomes.back().http_status});
        if (p.left_out) continue;
        ++asked;
        if (!p.got) {
            ++failed;
            if (!plan.from) continue;
            deliver_fault(in, *op, p.server, p.got.error());
            co_return;
        }
        auto rest = next_place(name, plan.before(i), *p.got);
        if (!rest) {
            if (rest.error().code == base::errc::invalid_params)
                deliver_bad_cursor(*op, rest.error());
            else
                deliver_fault(in, *op, p.server, rest.error());
            co_return;
        }
        if (*rest && !in.pages.can_continue()) {
            deliver_no_salt(*op, "the list of upstream '" + name + "' has several pages");
            co_return;
        }
        if (*rest) next.places.push_back(std::move(**rest));
        std::move(p.got->items.begin(), p.got->items.end(), std::back_inserter(items));
    }
    if (failed > 0 && failed == asked) {
        deliver_nothing(in, *op, plan.parts, outcomes);
        co_return;
    }
    auto cursor = co_await seal_rest(in, op, std::move(next));
    if (!cursor) {
        deliver_error(*op, mcp::rpc_code_of(cursor.error()), cursor.error().message);
        co_return;
    }
    auto result = catalog::merged_result(op->method->list_key, items, *cursor, outcomes);
    finish(*op, wire::make_result(op->host_id(), result));
}

aio::task<> run_aggregate(house& in, shared_operation op, std::optional<position> from) {
    auto plan = plan_page(in, *op, std::move(from));
    if (!plan) {
        deliver_bad_cursor(*op, plan.error());
        co_return;
    }
    co_await fetch_parts(in, op, *op->method, plan->parts);
    if (op->call->is_cancelled()) {
        op->outcome = "cancelled";
        co_return;
    }
    co_await deliver_union(in, op, std::move(*plan));
}

// A single server's page: its own answer, with the list and the cursor replaced where they must be.
aio::task<> deliver_page(
    house& in,
    shared_operation op,
    std::optional<position> from,
    wire::message answer,
    catalog::page page
) {
    auto server = op->scope.servers.front();
    const auto& name = in.names.server(server).name;
    const place* before = from ? &from->places.front() : nullptr;
    auto rest = next_place(name, before, page);
    if (!rest) {
        if (rest.error().code == base::errc::invalid_params)
            deliver_bad_cursor(*op, rest.error());
        else
            deliver_fault(in, *op, server, rest.error());
        co_return;
    }
    if (*rest && !in.pages.can_continue()) {
        deliver_no_salt(*op, "the list of upstream '" + name + "' has several pages");
        co_return;
    }
    position next;
    next.pages = from ? from->pages : 1;
    next.deadline_ms = from ? from->deadline_ms : in.pages.new_deadline();
    if (*rest) next.places.push_back(std::move(**rest));
    auto cursor = co_await seal_rest(in, op, std::move(next));
    if (!cursor) {
        deliver_fault(in, *op, server, cursor.error());
        co_return;
    }
    if (!page.changed && !*cursor) {
        deliver(*op, answer);
        co_return;
    }
    auto result =
        catalog::with_items(answer.view(answer.result), op->method->list_key, page, *cursor);
    auto bytes = wire::rewrite(answer, {{answer.id, op->host_id()}, {answer.result, result}});
    finish(*op, std::move(bytes));
}

aio::task<> run_single(house& in, shared_operation op, std::optional<position> from) {
    auto server = op->scope.servers.front();
    auto what = list_call(in, server);
    what.relay_notes = true;
    if (from) what.edits.push_back({op->message->cursor, from->places.front().cursor});
    auto answer = co_await ask(in, op, std::move(what));
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
    if (!from) learn(in, *op->method, server, *page);
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
        co_await run_aggregate(in, op, std::move(from));
    }
}

} // namespace sluice::gateway
