#include "gateway/lists_union.hpp"

#include "gateway/continuing.hpp"
#include "gateway/fetch.hpp"
#include "gateway/relay.hpp"
#include "mcp/errors.hpp"

#include <algorithm>
#include <iterator>

namespace sluice::gateway {

namespace {

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

// What the parts of a page come to.
struct gathered {
    std::vector<catalog::server_outcome> outcomes;
    std::vector<std::string> items;
    std::size_t failed = 0;
    std::size_t asked = 0;
    position next;
};

gathered start_gathering(house& in, const page_plan& plan) {
    gathered all;
    all.next.pages = plan.from ? plan.from->pages : 1;
    all.next.deadline_ms = plan.from ? plan.from->deadline_ms : in.pages.new_deadline();
    if (plan.from) all.next.others = plan.from->others;
    all.outcomes.reserve(all.next.others.size() + plan.parts.size());
    for (const auto& o : all.next.others)
        all.outcomes.push_back({o.server, o.how, 0, o.http_status});
    return all;
}

// Decision 20: a failure on a later page is an error, never a gap. False when that, or anything
// else that ends the listing, was told to the host.
bool gather(house& in, operation& op, page_plan& plan, std::size_t i, gathered& all) {
    auto& p = plan.parts[i];
    const auto& name = in.names.server(p.server).name;
    all.outcomes.push_back(outcome_for(in, p));
    const auto& outcome = all.outcomes.back();
    bool goes_on = p.got && p.got->next_cursor && !p.left_out;
    if (!goes_on) all.next.others.push_back({name, outcome.how, outcome.http_status});
    if (p.left_out) return true;
    ++all.asked;
    if (!p.got) {
        ++all.failed;
        if (!plan.from) return true;
        deliver_fault(in, op, p.server, p.got.error());
        return false;
    }
    auto rest = follow(in, op, p.server, plan.before(i), *p.got);
    if (!rest) return false;
    if (rest->next) all.next.places.push_back(std::move(*rest->next));
    std::move(p.got->items.begin(), p.got->items.end(), std::back_inserter(all.items));
    return true;
}

aio::task<> deliver_union(house& in, shared_operation op, page_plan plan) {
    auto all = start_gathering(in, plan);
    for (std::size_t i = 0; i < plan.parts.size(); ++i) {
        if (!gather(in, *op, plan, i, all)) co_return;
    }
    if (all.failed > 0 && all.failed == all.asked) {
        deliver_nothing(in, *op, plan.parts, all.outcomes);
        co_return;
    }
    auto more = co_await seal_rest(in, op, std::move(all.next));
    if (!more) co_return;
    auto result =
        catalog::merged_result(op->method->list_key, all.items, more->cursor, all.outcomes);
    finish(*op, wire::make_result(op->host_id(), result));
}

} // namespace

aio::task<> run_union(house& in, shared_operation op, std::optional<position> from) {
    auto plan = plan_page(in, *op, std::move(from));
    if (!plan) {
        deliver_bad_cursor(in, *op, plan.error());
        co_return;
    }
    co_await fetch_parts(in, op, *op->method, plan->parts);
    if (op->call->is_cancelled()) {
        op->outcome = "cancelled";
        co_return;
    }
    co_await deliver_union(in, op, std::move(*plan));
}

} // namespace sluice::gateway
