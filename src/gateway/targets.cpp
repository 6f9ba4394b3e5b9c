#include "gateway/targets.hpp"

#include "base/text.hpp"
#include "catalog/instructions.hpp"
#include "gateway/links.hpp"
#include "gateway/output.hpp"
#include "gateway/relay.hpp"
#include "gateway/routing.hpp"
#include "mcp/errors.hpp"
#include "mcp/log_level.hpp"

#include <algorithm>

namespace sluice::gateway {

namespace {

request_to plain_call(house& in, policy::grant allowed, std::size_t server) {
    request_to what{std::move(allowed), server};
    what.silence = in.names.server(server).timeout;
    what.longest = in.names.server(server).max_timeout;
    return what;
}

void deliver_unknown(operation& op, std::string_view kind, std::string_view name) {
    deliver_error(
        op, mcp::code_invalid_params, "Unknown " + std::string(kind) + ": " + std::string(name)
    );
}

std::vector<std::string> argument_names(const wire::message& m) {
    std::vector<std::string> names;
    if (!m.arguments.present()) return names;
    for (const auto& argument : wire::object_view(m.view(m.arguments))) {
        names.push_back(wire::unescape(argument.raw_key));
    }
    return names;
}

// What a named target needs: where the name stands, and what kind of thing it is.
struct named {
    wire::span where;
    policy::item_kind kind = policy::item_kind::tool;
    std::string_view word = "tool";
    const mcp::method_info* list = nullptr;
};

std::optional<named> name_in(const operation& op) {
    const auto& m = *op.message;
    switch (op.method->id) {
    case mcp::method::tools_call:
        return named{
            m.name, policy::item_kind::tool, "tool", &mcp::describe(mcp::method::tools_list)
        };
    case mcp::method::prompts_get:
        return named{
            m.name, policy::item_kind::prompt, "prompt", &mcp::describe(mcp::method::prompts_list)
        };
    case mcp::method::completion_complete:
        if (m.string_at(m.ref_type) != "ref/prompt") return std::nullopt;
        return named{
            m.ref_name,
            policy::item_kind::prompt,
            "prompt",
            &mcp::describe(mcp::method::prompts_list)
        };
    default:
        return std::nullopt;
    }
}

// Nothing when the name leads nowhere: that is delivered.
aio::task<std::optional<catalog::route>>
lead(house& in, shared_operation op, const mcp::method_info& list, std::string name) {
    auto found = co_await find_named(in, op, list, name);
    if (!found) {
        deliver_error(*op, mcp::rpc_code_of(found.error()), found.error().message);
        co_return std::nullopt;
    }
    auto server = found->server;
    if (found->shortened) found = co_await look_up(in, op, list, *found, name);
    if (found) co_return std::move(*found);
    deliver_fault(in, *op, server, found.error());
    co_return std::nullopt;
}

aio::task<> call_named(house& in, shared_operation op, named target) {
    auto name = op->message->string_at(target.where);
    if (!name) {
        deliver_error(
            *op,
            mcp::code_invalid_params,
            "params need a string naming the " + std::string(target.word)
        );
        co_return;
    }
    bool is_tool = target.kind == policy::item_kind::tool;
    if (is_tool) op->tool = *name;
    auto found = co_await lead(in, op, *target.list, *name);
    if (!found) co_return;
    const auto& server = in.names.server(found->server);
    op->server = server.name;
    if (is_tool) op->tool = found->native;
    auto names = is_tool && !server.allowed_params.empty() ? argument_names(*op->message)
                                                           : std::vector<std::string>();
    auto grant = in.authoriser.authorise(op->caller, server, target.kind, found->native, names);
    if (!grant) {
        if (grant.error().code == base::errc::not_found) {
            deliver_unknown(*op, target.word, *name);
        } else {
            deliver_error(*op, mcp::code_invalid_params, grant.error().message);
        }
        co_return;
    }
    op->granted = true;
    auto what = plain_call(in, std::move(*grant), found->server);
    if (found->native != *name) what.edits.push_back({target.where, wire::quote(found->native)});
    auto answer = co_await ask(in, op, std::move(what));
    if (!answer) {
        deliver_fault(in, *op, found->server, answer.error());
    } else if (is_tool) {
        co_await deliver_checked(in, op, found->server, found->native, std::move(*answer));
    } else {
        deliver(*op, *answer);
    }
}

// An upstream that was not known to lack resources until it was asked.
bool says_no_such_method(const wire::message& answer) {
    return answer.kind == wire::message_kind::error && answer.view(answer.error_code) == "-32601";
}

bool says_not_found(const wire::message& answer) {
    if (answer.kind != wire::message_kind::error) return false;
    auto code = answer.view(answer.error_code);
    return code == "-32002" || code == "-32602";
}

} // namespace

aio::task<> call_by_uri(
    house& in,
    shared_operation op,
    std::string uri,
    std::vector<std::size_t> candidates,
    uri_hooks hooks
) {
    std::optional<wire::message> last;
    std::optional<std::pair<std::size_t, base::fault>> failed;
    for (auto server : candidates) {
        auto grant = in.authoriser.authorise(
            op->caller, in.names.server(server), policy::item_kind::resource, uri
        );
        if (!grant) continue;
        auto what = plain_call(in, std::move(*grant), server);
        if (hooks.before) hooks.before(server);
        auto answer = co_await ask(in, op, std::move(what));
        if (hooks.after) hooks.after(server, answer && answer->kind == wire::message_kind::result);
        if (!answer) {
            if (answer.error().code == base::errc::cancelled || candidates.size() == 1) {
                deliver_fault(in, *op, server, answer.error());
                co_return;
            }
            if (!failed) failed.emplace(server, answer.error());
            continue;
        }
        op->server = in.names.server(server).name;
        op->granted = true;
        bool elsewhere = says_not_found(*answer) || says_no_such_method(*answer);
        if (!elsewhere) {
            deliver(*op, *answer);
            co_return;
        }
        // Of all who do not have it, one who knows resources says it best.
        if (!last || says_no_such_method(*last)) last = std::move(*answer);
    }
    // An upstream that could not be asked may be the one that has it: never claim "not found" then.
    if (failed) {
        deliver_fault(in, *op, failed->first, failed->second);
    } else if (last) {
        deliver(*op, *last);
    } else {
        deliver_error(
            *op,
            mcp::code_resource_not_found,
            "Resource not found",
            "{\"uri\":" + wire::quote(uri) + "}"
        );
    }
}

namespace {

// A process that sessions share may have to say more than this host wants to hear.
request_to level_call(house& in, const operation& op, policy::grant allowed, std::size_t server) {
    auto what = plain_call(in, std::move(allowed), server);
    auto level = links_of(in, *op.host).watches().level_for(in.servers[server]);
    if (level != op.host->log_level())
        what.edits.push_back({op.message->level, wire::quote(level)});
    return what;
}

aio::task<> tell_level(house& in, shared_operation op, policy::grant allowed, std::size_t server) {
    co_await aio::keep_running_when_cancelled();
    auto what = level_call(in, *op, std::move(allowed), server);
    what.relay_notes = false;
    // An upstream that refuses the level keeps its own; the gateway filters by the session's
    // anyway.
    [[maybe_unused]] auto answer = co_await ask(in, op, std::move(what));
}

aio::task<> set_level_of_one(house& in, shared_operation op, std::size_t server) {
    auto grant = may_ask(in, *op, server);
    if (!grant) {
        deliver_error(*op, mcp::rpc_code_of(grant.error()), grant.error().message);
        co_return;
    }
    auto what = level_call(in, *op, std::move(*grant), server);
    auto answer = co_await ask(in, op, std::move(what));
    if (answer) {
        deliver(*op, *answer);
    } else {
        deliver_fault(in, *op, server, answer.error());
    }
}

} // namespace

aio::task<> run_target(house& in, shared_operation op) {
    if (op->scope.single) op->server = in.names.server(op->scope.servers.front()).name;
    auto target = name_in(*op);
    if (target) {
        co_await call_named(in, op, *target);
        co_return;
    }
    auto where = op->method->id == mcp::method::completion_complete ? op->message->ref_uri
                                                                    : op->message->uri;
    auto uri = op->message->string_at(where);
    if (!uri) {
        deliver_error(*op, mcp::code_invalid_params, "params need a string uri");
        co_return;
    }
    auto candidates = candidates_for_uri(in, *op, *uri);
    uri_hooks none;
    co_await call_by_uri(in, op, std::move(*uri), std::move(candidates), std::move(none));
}

aio::task<> run_set_level(house& in, shared_operation op) {
    auto level = op->message->string_at(op->message->level);
    if (!level || !mcp::is_log_level(*level)) {
        deliver_error(
            *op, mcp::code_invalid_params, "params.level must be one of the eight log levels"
        );
        co_return;
    }
    co_await op->host->change_log_level(*level);
    links_of(in, *op->host).watches().listen_where_worth();
    if (op->scope.single) {
        co_await set_level_of_one(in, op, op->scope.servers.front());
        co_return;
    }
    {
        aio::nursery fan(op->host->get_executor(), "gateway");
        for (auto server : op->scope.servers) {
            auto link = links_of(in, *op->host).open_link(*in.servers[server]);
            auto grant = may_ask(in, *op, server);
            if (!link || !grant || !catalog::has_capability(link->peer().capabilities, "logging"))
                continue;
            auto job = tell_level(in, op, std::move(*grant), server);
            fan.spawn(std::move(job));
        }
        co_await fan.join();
    }
    finish(*op, wire::make_result(op->host_id(), "{}"));
}

} // namespace sluice::gateway
