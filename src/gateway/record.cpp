#include "gateway/record.hpp"

#include "base/text.hpp"
#include "gateway/gateway.hpp"
#include "sys/log.hpp"

#include <algorithm>
#include <chrono>

namespace sluice::gateway {

namespace {

double seconds(aio::duration d) {
    return std::chrono::duration<double>(d).count();
}

// Hosts can send any name; only those of the upstreams' own lists become label values.
std::string_view known_tool(house& in, const operation& op) {
    if (op.tool.empty()) return {};
    if (op.outcome == "ok" && op.tool.size() <= 128) return op.tool;
    for (std::size_t i = 0; i < in.names.size(); ++i) {
        if (in.names.server(i).name == op.server)
            return in.lists.ever_had(viewpoint_of(in, op, i), "tools", op.tool)
                       ? std::string_view(op.tool)
                       : "other";
    }
    return "other";
}

} // namespace

void gateway::record_greeting(const hello& said, const greeting& of) {
    auto total = seconds(aio::clock::now() - of.arrived);
    auto waited = seconds(said.waited);
    auto added = std::max(total - waited, 0.0);
    std::string_view outcome = said.host && said.http_status == 200 ? "ok" : "refused";
    in_.meters.call_ended({"", "initialize", outcome, "", total, added});
    sys::log_line line(sys::log_level::info, "session");
    line.field("outcome", outcome).field("endpoint", base::clip(of.endpoint));
    if (!said.problem.empty()) line.field("problem", base::clip(said.problem));
    if (said.host) line.field("revision", mcp::text_of(said.host->who().revision));
    if (!of.who.open) line.field("key", of.who.name);
    line.field("total_ms", total * 1000);
    line.field("queue_ms", seconds(of.began - of.arrived) * 1000);
    line.field("upstream_ms", waited * 1000);
    line.field("added_ms", added * 1000);
}

void record(house& in, const operation& op) {
    auto total = aio::clock::now() - op.arrived;
    auto added = std::max(total - op.waited, aio::duration::zero());
    bool known = op.method->id != mcp::method::unknown;
    std::string_view method = known ? op.method->text : std::string_view("other");
    in.meters.call_ended(
        {op.server, method, op.outcome, known_tool(in, op), seconds(total), seconds(added)}
    );
    if (!sys::log_enabled(sys::log_level::info)) return;
    sys::log_line line(sys::log_level::info, "call");
    line.field("method", method).field("outcome", op.outcome);
    if (!op.server.empty()) line.field("server", op.server);
    if (!op.tool.empty()) line.field("tool", base::clip(op.tool, 128));
    if (!op.problem.empty()) line.field("problem", base::clip(op.problem));
    if (!op.caller->open) line.field("key", op.caller->name);
    line.field("total_ms", seconds(total) * 1000);
    line.field("queue_ms", seconds(op.began - op.arrived) * 1000);
    line.field("upstream_ms", seconds(op.waited) * 1000);
    line.field("first_byte_ms", seconds(op.first_byte) * 1000);
    line.field("added_ms", seconds(added) * 1000);
}

} // namespace sluice::gateway
