#include "gateway/fetch.hpp"

#include "aio/nursery.hpp"
#include "base/text.hpp"
#include "catalog/instructions.hpp"
#include "gateway/ask_page.hpp"
#include "gateway/links.hpp"
#include "sys/log.hpp"

#include <algorithm>
#include <iterator>

namespace sluice::gateway {

namespace {

policy::item_kind kind_of(const mcp::method_info& list) {
    if (list.id == mcp::method::tools_list) return policy::item_kind::tool;
    if (list.id == mcp::method::prompts_list) return policy::item_kind::prompt;
    return policy::item_kind::resource;
}

// A display name that the server's own list has as well: both tools are served, and who runs the
// gateway is told of it once.
void tell_of_displaced(
    house& in, std::size_t server, const std::string& native, std::string_view by
) {
    if (!in.displaced.emplace(server, native).second) return;
    sys::log_line(sys::log_level::warn, "names")
        .field("server", in.names.server(server).name)
        .field("tool", base::clip(native, 128))
        .field("shown_as", mcp::distinct_name(native))
        .field("taken_by", base::clip(by, 128))
        .field(
            "text",
            "tool_name_to_display_name gives this tool's own name to another tool; choose another "
            "display name, or give this tool one too"
        );
}

// Permission, public name and description override of one item.
catalog::item_rule
rule_for(house& in, const operation& op, const mcp::method_info& list, std::size_t server) {
    return [&in, &op, &list, server](const std::string& native) {
        catalog::verdict v;
        const auto& settings = in.names.server(server);
        v.keep = in.authoriser.may(*op.caller, settings, kind_of(list), native);
        if (!v.keep) return v;
        bool tool = list.id == mcp::method::tools_list;
        if (!tool && list.id != mcp::method::prompts_list) return v;
        auto shown = tool ? in.names.show_tool(op.scope, server, native)
                          : catalog::shown_tool{in.names.public_name(op.scope, server, native)};
        if (shown.taken_by) tell_of_displaced(in, server, native, *shown.taken_by);
        if (shown.name != native) v.name = std::move(shown.name);
        if (!tool) return v;
        auto it = settings.tool_name_to_description.find(native);
        if (it != settings.tool_name_to_description.end()) v.description = it->second;
        return v;
    };
}

std::shared_ptr<const wire::message>
list_request(const mcp::method_info& list, std::string_view cursor) {
    std::string params = cursor.empty() ? "{}" : "{\"cursor\":" + std::string(cursor) + "}";
    auto parsed = wire::parse_message(wire::make_request("0", list.text, params));
    return std::make_shared<const wire::message>(std::move(*parsed));
}

// The same walk for another request than the host's own.
shared_operation with_message(
    const shared_operation& op,
    const mcp::method_info& method,
    std::shared_ptr<const wire::message> m
) {
    auto copy = std::make_shared<operation>(*op);
    copy->message = std::move(m);
    copy->method = &method;
    return copy;
}

// Whether a server has that list at all. One whose pages may be kept need not be reached to know.
aio::task<base::result<bool>>
has_list(house& in, shared_operation op, const mcp::method_info& list, std::size_t server) {
    const auto& settings = in.names.server(server);
    const auto* known = settings.cache_ttl.count() > 0 ? peer_of(in, *op, server) : nullptr;
    if (known != nullptr) co_return catalog::has_capability(known->capabilities, list.capability);
    auto until = aio::clock::now() + settings.list_timeout;
    auto link = co_await links_of(in, *op->host).ensure(in.servers[server], op->headers, until);
    if (!link) co_return link.error();
    co_return catalog::has_capability((*link)->peer().capabilities, list.capability);
}

aio::task<> fetch_from(
    house& in, shared_operation op, const mcp::method_info& list, policy::grant allowed, part& into
) {
    auto server = into.server;
    auto has = co_await has_list(in, op, list, server);
    if (!has) {
        into.got = has.error();
        co_return;
    }
    if (!*has) {
        into.left_out = true;
        in.lists.learn(viewpoint_of(in, *op, server), list.list_key, {{}, true, {}});
        co_return;
    }
    auto inner = with_message(op, list, list_request(list, into.cursor));
    auto what = list_call(in, std::move(allowed), server);
    auto answer = co_await ask_page(in, inner, std::move(what), into.cursor);
    if (op->first_byte == aio::duration::zero()) op->first_byte = inner->first_byte;
    if (!answer) {
        into.got = answer.error();
        co_return;
    }
    into.got = page_of(in, *op, list, server, *answer);
    into.held = std::move(answer->held);
    if (into.got && into.cursor.empty()) learn(in, *op, list, server, *into.got);
}

aio::task<> fetch_part(house& in, shared_operation op, const mcp::method_info& list, part& into) {
    co_await aio::keep_running_when_cancelled();
    auto grant = may_ask(in, *op, into.server);
    if (!grant) {
        into.got = grant.error();
        co_return;
    }
    co_await fetch_from(in, op, list, std::move(*grant), into);
    if (!into.got) in.servers[into.server]->server->report(list.text, into.got.error());
}

} // namespace

request_to list_call(house& in, policy::grant allowed, std::size_t server) {
    request_to what{std::move(allowed), server};
    what.silence = in.names.server(server).list_timeout;
    what.longest = in.names.server(server).list_timeout;
    what.relay_notes = false;
    return what;
}

base::result<catalog::page> page_of(
    house& in,
    const operation& op,
    const mcp::method_info& list,
    std::size_t server,
    const wire::message& answer
) {
    if (answer.kind == wire::message_kind::error) {
        // Announced a capability and does not know its list: nothing to list, as without it.
        if (answer.view(answer.error_code) == "-32601") return catalog::page{};
        return base::fault(base::errc::upstream_error, "it answered the listing with an error");
    }
    bool checked = in.names.server(server).validate_output != upstream::output_check::off;
    if (checked && list.id == mcp::method::tools_list)
        in.lists.schemas().learn(viewpoint_of(in, op, server), answer.view(answer.result));
    auto rule = rule_for(in, op, list, server);
    return catalog::read_page(answer.view(answer.result), list.list_key, rule);
}

void learn(
    house& in,
    const operation& op,
    const mcp::method_info& list,
    std::size_t server,
    const catalog::page& page
) {
    in.lists.learn(
        viewpoint_of(in, op, server), list.list_key, {page.natives, !page.next_cursor, {}}
    );
}

std::vector<part> first_pages_of(const std::vector<std::size_t>& servers) {
    std::vector<part> parts(servers.size());
    for (std::size_t i = 0; i < servers.size(); ++i)
        parts[i].server = servers[i];
    return parts;
}

aio::task<> fetch_parts(
    house& in, shared_operation op, const mcp::method_info& list, std::vector<part>& parts
) {
    aio::nursery fan(op->host->get_executor(), "gateway");
    for (auto& p : parts) {
        auto job = fetch_part(in, op, list, p);
        fan.spawn(std::move(job));
    }
    auto began = aio::clock::now();
    co_await fan.join();
    op->waited += aio::clock::now() - began; // the parts have clocks of their own, side by side
}

aio::task<base::result<bool>> read_list(
    house& in,
    shared_operation op,
    const mcp::method_info& list,
    std::size_t server,
    reading how_far
) {
    auto grant = may_ask(in, *op, server);
    if (!grant) co_return grant.error();
    auto most_pages = in.names.rules().max_pages;
    std::vector<std::uint64_t> seen;
    std::string cursor;
    for (std::uint32_t page_number = 0; page_number < most_pages; ++page_number) {
        auto inner = with_message(op, list, list_request(list, cursor));
        auto what = list_call(in, *grant, server);
        what.longest = std::min(what.longest, how_far.until - aio::clock::now());
        auto answer = co_await ask_page(in, inner, std::move(what), cursor);
        op->waited += inner->waited - op->waited;
        if (!answer) co_return answer.error();
        auto page = page_of(in, *op, list, server, *answer);
        if (!page) co_return page.error();
        if (how_far.enough(page->natives)) co_return true;
        if (!page->next_cursor) co_return false;
        auto goes_on = catalog::go_on_at(seen, *page->next_cursor);
        if (!goes_on) co_return goes_on.error();
        cursor = *page->next_cursor;
    }
    co_return catalog::too_long(most_pages);
}

} // namespace sluice::gateway
