#include "gateway/lists.hpp"

#include "aio/nursery.hpp"
#include "base/text.hpp"
#include "catalog/instructions.hpp"
#include "gateway/links.hpp"
#include "gateway/relay.hpp"
#include "mcp/errors.hpp"

#include <algorithm>

namespace sluice::gateway {

namespace {

constexpr std::size_t max_lookup_pages = 100;

policy::item_kind kind_of(const mcp::method_info& list) {
    if (list.id == mcp::method::tools_list) return policy::item_kind::tool;
    if (list.id == mcp::method::prompts_list) return policy::item_kind::prompt;
    return policy::item_kind::resource;
}

// Permission, public name and description override of one item.
catalog::item_rule rule_for(house& in, const operation& op, const mcp::method_info& list, std::size_t server) {
    return [&in, &op, &list, server](const std::string& native) {
        catalog::verdict v;
        const auto& settings = in.names.server(server);
        v.keep = in.authoriser.may(*op.caller, settings, kind_of(list), native);
        if (!v.keep) return v;
        bool tool = list.id == mcp::method::tools_list;
        if (!tool && list.id != mcp::method::prompts_list) return v;
        auto shown = tool ? in.names.public_tool(op.scope, server, native)
                          : in.names.public_name(op.scope, server, native);
        if (shown != native) v.name = std::move(shown);
        if (!tool) return v;
        auto it = settings.tool_name_to_description.find(native);
        if (it != settings.tool_name_to_description.end()) v.description = it->second;
        return v;
    };
}

std::shared_ptr<const wire::message> list_request(const mcp::method_info& list, std::string_view cursor) {
    std::string params = cursor.empty() ? "{}" : "{\"cursor\":" + std::string(cursor) + "}";
    auto parsed = wire::parse_message(wire::make_request("0", list.text, params));
    return std::make_shared<const wire::message>(std::move(*parsed));
}

// The same walk for another request than the host's own.
shared_operation with_message(
    const shared_operation& op, const mcp::method_info& method, std::shared_ptr<const wire::message> m
) {
    auto copy = std::make_shared<operation>(*op);
    copy->message = std::move(m);
    copy->method = &method;
    return copy;
}

request_to list_call(house& in, std::size_t server) {
    request_to what;
    what.server = server;
    what.silence = in.names.server(server).list_timeout;
    what.longest = in.names.server(server).list_timeout;
    what.relay_notes = false;
    return what;
}

base::result<catalog::page> page_of(
    house& in, const operation& op, const mcp::method_info& list, std::size_t server, const wire::message& answer
) {
    if (answer.kind == wire::message_kind::error) {
        // Announced a capability and does not know its list: nothing to list, as without it.
        if (answer.view(answer.error_code) == "-32601") return catalog::page{};
        return base::fault(base::errc::upstream_error, "it answered the listing with an error");
    }
    auto rule = rule_for(in, op, list, server);
    return catalog::read_page(answer.view(answer.result), list.list_key, rule);
}

void learn(house& in, const mcp::method_info& list, std::size_t server, const catalog::page& page) {
    in.lists.learn(server, list.list_key, {page.natives, !page.next_cursor, {}});
}

aio::task<> fetch_part(
    house& in, shared_operation op, const mcp::method_info& list, std::shared_ptr<const wire::message> request,
    part& into
) {
    co_await aio::keep_running_when_cancelled();
    auto server = into.server;
    auto until = aio::clock::now() + in.names.server(server).list_timeout;
    auto link = co_await links_of(in, *op->host).ensure(server, op->headers, until);
    if (!link) {
        into.got = link.error();
        co_return;
    }
    if (!catalog::has_capability((*link)->peer().capabilities, list.capability)) {
        into.left_out = true;
        in.lists.learn(server, list.list_key, {{}, true, {}});
        co_return;
    }
    auto inner = with_message(op, list, std::move(request));
    auto what = list_call(in, server);
    auto answer = co_await ask(in, inner, std::move(what));
    if (!answer) {
        into.got = answer.error();
        co_return;
    }
    into.got = page_of(in, *op, list, server, *answer);
    if (into.got) learn(in, list, server, *into.got);
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

void deliver_nothing(house& in, operation& op, const std::vector<part>& parts,
                     const std::vector<catalog::server_outcome>& outcomes) {
    std::string text = "no upstream could be listed:";
    for (const auto& p : parts) {
        auto how = base::outcome_of(p.got.error());
        text += " " + mcp::sentence_for(in.names.server(p.server).name, how, p.got.error()) + ";";
    }
    text.pop_back();
    op.outcome = std::string(name_of(base::outcome_of(parts.front().got.error())));
    deliver_error(op, mcp::code_internal, text, catalog::outcomes_meta(outcomes));
}

void deliver_paged(operation& op, const std::vector<std::string>& servers) {
    op.outcome = "config";
    deliver_error(
        op, mcp::code_internal,
        "the list of upstream " + base::join(servers, ", ") +
            " has several pages, and continuing a list needs a salt key: set salt_keys (or the "
            "environment variable SLUICE_SALT_KEY); `sluice gen-salt` makes one",
        R"({"reason":"no_salt_key","setting":"salt_keys"})"
    );
}

void deliver_union(house& in, operation& op, const mcp::method_info& list, std::vector<part>& parts) {
    std::vector<catalog::server_outcome> outcomes;
    std::vector<std::string> items;
    std::vector<std::string> paged;
    bool any = parts.empty();
    for (auto& p : parts) {
        outcomes.push_back(outcome_for(in, p));
        if (p.left_out) any = true;
        if (p.left_out || !p.got) continue;
        any = true;
        if (p.got->next_cursor) paged.push_back("'" + in.names.server(p.server).name + "'");
        std::move(p.got->items.begin(), p.got->items.end(), std::back_inserter(items));
    }
    if (!any) return deliver_nothing(in, op, parts, outcomes);
    if (!paged.empty()) return deliver_paged(op, paged);
    auto result = catalog::merged_result(list.list_key, items, {}, outcomes);
    op.call->out().push_final(wire::make_result(op.host_id(), result));
}

aio::task<> run_single(house& in, shared_operation op) {
    auto server = op->scope.servers.front();
    auto what = list_call(in, server);
    what.relay_notes = true;
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
    if (!op->message->cursor.present()) learn(in, *op->method, server, *page);
    if (page->next_cursor) {
        deliver_paged(*op, {"'" + in.names.server(server).name + "'"});
        co_return;
    }
    if (!page->changed) {
        deliver(*op, *answer);
        co_return;
    }
    auto result = catalog::with_items(answer->view(answer->result), op->method->list_key, *page);
    op->call->out().push_final(wire::make_result(op->host_id(), result));
}

}  // namespace

aio::task<std::vector<part>> fetch_first_pages(
    house& in, shared_operation op, const mcp::method_info& list, std::vector<std::size_t> servers
) {
    std::vector<part> parts(servers.size());
    auto request = list_request(list, {});
    {
        aio::nursery fan(op->host->get_executor(), "gateway");
        for (std::size_t i = 0; i < servers.size(); ++i) {
            parts[i].server = servers[i];
            auto job = fetch_part(in, op, list, request, parts[i]);
            fan.spawn(std::move(job));
        }
        co_await fan.join();
    }
    co_return parts;
}

aio::task<base::result<std::vector<std::string>>> fetch_all_names(
    house& in, shared_operation op, const mcp::method_info& list, std::size_t server
) {
    std::vector<std::string> names;
    std::string cursor;
    for (std::size_t page_number = 0; page_number < max_lookup_pages; ++page_number) {
        auto inner = with_message(op, list, list_request(list, cursor));
        auto what = list_call(in, server);
        auto answer = co_await ask(in, inner, std::move(what));
        if (!answer) co_return answer.error();
        auto page = page_of(in, *op, list, server, *answer);
        if (!page) co_return page.error();
        std::move(page->natives.begin(), page->natives.end(), std::back_inserter(names));
        if (!page->next_cursor || *page->next_cursor == cursor) co_return names;
        cursor = *page->next_cursor;
    }
    co_return names;
}

aio::task<> run_list(house& in, shared_operation op) {
    if (op->scope.single) {
        co_await run_single(in, op);
        co_return;
    }
    auto servers = op->scope.servers;
    auto parts = co_await fetch_first_pages(in, op, *op->method, std::move(servers));
    if (op->call->is_cancelled()) {
        op->outcome = "cancelled";
        co_return;
    }
    deliver_union(in, *op, *op->method, parts);
}

}  // namespace sluice::gateway
