#include "gateway/output.hpp"

#include "base/text.hpp"
#include "gateway/ask_page.hpp"
#include "gateway/fetch.hpp"
#include "gateway/relay.hpp"
#include "mcp/errors.hpp"
#include "sys/log.hpp"

#include <algorithm>
#include <array>

namespace sluice::gateway {

namespace {

struct finding {
    std::string_view word = "ok"; // of the metric
    std::optional<mcp::breach> wrong;
    std::string unchecked; // why not
};

// Its list is read to its end only while the tool was not in it.
aio::task<> read_schemas(house& in, shared_operation op, std::size_t server, std::string tool) {
    auto from = viewpoint_of(in, *op, server);
    reading how_far;
    how_far.until = aio::clock::now() + in.names.server(server).list_timeout;
    how_far.enough = [&in, &from, &tool](const auto&) {
        return in.lists.schemas().find(from, tool) != nullptr;
    };
    const auto& list = mcp::describe(mcp::method::tools_list);
    auto found = co_await read_list(in, op, list, server, how_far);
    if (found && !*found) in.lists.schemas().learnt_all(from);
}

std::optional<mcp::breach>
check_content(std::string_view result, const mcp::output_schema& schema, finding& into) {
    std::array<std::string_view, 1> watched = {"structuredContent"};
    if (wire::duplicate_key(result, watched)) return mcp::breach{"a member twice", ""};
    auto content = wire::object_view(result).find("structuredContent");
    if (!content) return mcp::breach{"structuredContent is missing", ""};
    auto checked = schema.check(*content);
    if (checked) return *checked;
    into.unchecked = checked.error().message;
    return std::nullopt;
}

// Nothing when there was nothing to check.
std::optional<finding> judge(const catalog::tool_output* tool, std::string_view result) {
    finding f;
    if (tool == nullptr) {
        f.unchecked = "its schema could not be had";
    } else if (tool->text.empty()) {
        return std::nullopt;
    } else if (!*tool->schema) {
        f.unchecked = "its schema uses " + tool->schema->error().message;
    } else {
        f.wrong = check_content(result, **tool->schema, f);
    }
    if (!f.unchecked.empty()) f.word = "unchecked";
    if (f.wrong) f.word = "violation";
    return f;
}

bool is_checkable(const wire::message& answer) {
    if (answer.kind != wire::message_kind::result || answer.is_error) return false;
    wire::object_view result(answer.view(answer.result));
    return !result.find("task") || result.find("content"); // a task's result comes later
}

// One reads the list for all who want to know a tool of it at once; who joined looks, and reads on
// itself where its own tool was not among what was read.
aio::task<> learn_tool(house& in, shared_operation op, std::size_t server, std::string tool) {
    auto from = viewpoint_of(in, *op, server);
    auto until = aio::clock::now() + in.names.server(server).list_timeout;
    auto key = "schemas\n" + std::to_string(from.server) + "\n" + from.as;
    auto& schemas = in.lists.schemas();
    while (schemas.find(from, tool) == nullptr && !schemas.knows_all(from)) {
        auto other = in.cache->under_way(key);
        if (!other) {
            leading flight(*in.cache, key, server);
            co_await read_schemas(in, op, server, tool);
            co_return;
        }
        co_await wait_for(std::move(other), op, until);
        if (aio::clock::now() >= until || op->call->is_cancelled()) co_return;
    }
}

aio::task<std::optional<finding>> examine(
    house& in, shared_operation op, std::size_t server, std::string tool, std::string_view result
) {
    auto from = viewpoint_of(in, *op, server);
    co_await learn_tool(in, op, server, tool);
    co_return judge(in.lists.schemas().find(from, tool), result);
}

void tell(house& in, std::size_t server, const std::string& tool, const finding& f) {
    const auto& name = in.names.server(server).name;
    in.meters.output_checked(name, f.word);
    if (f.word == "ok" || !sys::log_enabled(sys::log_level::warn)) return;
    sys::log_line line(sys::log_level::warn, "output");
    line.field("server", name).field("tool", base::clip(tool, 128)).field("result", f.word);
    if (f.wrong)
        line.field("keyword", f.wrong->keyword).field("path", base::clip(f.wrong->path));
    else
        line.field("problem", base::clip(f.unchecked));
}

void deliver_breach(house& in, operation& op, std::size_t server, const mcp::breach& wrong) {
    const auto& name = in.names.server(server).name;
    auto path = base::clip(wrong.path);
    op.outcome = std::string(name_of(base::outcome::upstream_error));
    op.problem = "output schema: " + wrong.keyword + " at '" + path + "'";
    auto text = "upstream '" + name + "': the result does not fit the tool's outputSchema (" +
                wrong.keyword + " at '" + path + "' of structuredContent)";
    auto data = "{\"server\":" + wire::quote(name) +
                R"(,"outcome":"upstream_error","reason":"output_schema","keyword":)" +
                wire::quote(wrong.keyword) + ",\"path\":" + wire::quote(path) + "}";
    deliver_error(op, mcp::code_internal, text, data);
}

} // namespace

aio::task<> deliver_checked(
    house& in, shared_operation op, std::size_t server, std::string tool, wire::message answer
) {
    auto mode = in.names.server(server).validate_output;
    bool looks = mode != upstream::output_check::off && is_checkable(answer);
    bool waits = looks && mode == upstream::output_check::enforce;
    // A warning costs the host no time.
    if (!waits) deliver(*op, answer);
    if (!looks) co_return;
    auto found = co_await examine(in, op, server, tool, answer.view(answer.result));
    if (found) tell(in, server, tool, *found);
    if (!waits) co_return;
    if (found && found->wrong) {
        deliver_breach(in, *op, server, *found->wrong);
    } else {
        deliver(*op, answer);
    }
}

} // namespace sluice::gateway
