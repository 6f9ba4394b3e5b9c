#include "gateway/continuing.hpp"

#include "base/text.hpp"
#include "gateway/relay.hpp"
#include "mcp/errors.hpp"
#include "sys/digest.hpp"

#include <algorithm>

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

// The store's own words name its address; those are for the log.
void deliver_no_store(operation& op, const base::fault& why) {
    op.outcome = "store_unavailable";
    op.problem = why.message;
    std::string_view what = op.message->cursor.present() ? "the same cursor again" : "again";
    deliver_error(
        op,
        mcp::code_internal,
        "the store of listing positions is away; try " + std::string(what),
        R"({"reason":"store_unavailable"})",
        503
    );
}

void deliver_too_long(house& in, operation& op) {
    auto f = catalog::too_long(in.pages.settings().max_pages);
    if (op.scope.single)
        deliver_fault(in, op, op.scope.servers.front(), f);
    else
        deliver_error(op, mcp::rpc_code_of(f), f.message);
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
    auto goes_on = catalog::go_on_at(next.seen, next.cursor);
    if (!goes_on) return goes_on.error();
    return std::optional(std::move(next));
}

} // namespace

void deliver_bad_cursor(house& in, operation& op, const base::fault& f) {
    if (f.code != base::errc::invalid_params) {
        in.meters.cursor_refused("store_unavailable");
        deliver_no_store(op, f);
        return;
    }
    in.meters.cursor_refused(f.message);
    deliver_error(
        op,
        mcp::code_invalid_params,
        "this cursor cannot be used (" + f.message + "): list again from the start",
        "{\"reason\":" + wire::quote(f.message) + "}"
    );
}

aio::task<std::optional<position>> open_cursor(house& in, shared_operation op) {
    if (!in.pages.can_continue()) {
        in.meters.cursor_refused("no_salt_key");
        deliver_no_salt(*op, "this gateway issued no cursors");
        co_return std::nullopt;
    }
    auto cursor = op->message->string_at(op->message->cursor);
    auto where = listing_of(in, *op);
    auto at = co_await in.pages.open(std::move(where), cursor.value_or(std::string()));
    if (!at) {
        deliver_bad_cursor(in, *op, at.error());
        co_return std::nullopt;
    }
    co_return std::move(*at);
}

std::optional<following> follow(
    house& in, operation& op, std::size_t server, const place* before, const catalog::page& page
) {
    const auto& name = in.names.server(server).name;
    auto rest = next_place(name, before, page);
    if (!rest) {
        in.forget_lists(server); // a page that was kept may be what does not fit
        if (rest.error().code == base::errc::invalid_params)
            deliver_bad_cursor(in, op, rest.error());
        else
            deliver_fault(in, op, server, rest.error());
        return std::nullopt;
    }
    if (*rest && !in.pages.can_continue()) {
        deliver_no_salt(op, "the list of upstream '" + name + "' has several pages");
        return std::nullopt;
    }
    return following{std::move(*rest)};
}

aio::task<std::optional<continuation>> seal_rest(house& in, shared_operation op, position next) {
    if (next.places.empty()) co_return continuation();
    if (++next.pages > in.pages.settings().max_pages) {
        deliver_too_long(in, *op);
        co_return std::nullopt;
    }
    auto where = listing_of(in, *op);
    auto sealed = co_await in.pages.issue(std::move(where), std::move(next));
    if (!sealed) {
        deliver_no_store(*op, sealed.error());
        co_return std::nullopt;
    }
    in.meters.cursor_issued();
    co_return continuation{std::move(*sealed)};
}

} // namespace sluice::gateway
