#include "app/demo/session.hpp"

#include "app/demo/lists.hpp"
#include "base/text.hpp"
#include "wire/json.hpp"

#include <algorithm>
#include <array>

namespace sluice::app::demo {

namespace {

constexpr std::array<std::string_view, 4> revisions = {
    "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"
};
constexpr std::array<std::string_view, 8> levels = {
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"
};
constexpr int debug = 0;
constexpr int info = 1;

constexpr int invalid_request = -32600;
constexpr int method_not_found = -32601;
constexpr int invalid_params = -32602;

// A whole number among the arguments: the default when absent, nothing when it is something else.
std::optional<std::uint64_t>
number(const wire::message& m, std::string_view key, std::uint64_t otherwise, std::uint64_t most) {
    if (!m.arguments.present()) return otherwise;
    auto value = wire::object_view(m.view(m.arguments)).find(key);
    if (!value) return otherwise;
    auto parsed = base::parse_unsigned(*value);
    if (!parsed || *parsed > most) return std::nullopt;
    return *parsed;
}

} // namespace

bool session::knows(std::string_view revision) {
    return std::find(revisions.begin(), revisions.end(), revision) != revisions.end();
}

aio::task<> session::request(wire::message m, outlet& out) {
    std::string id_text(m.view(m.id));
    auto id = m.id_token();
    if (!id || running_.contains(*id)) {
        std::string refused =
            wire::make_error(id_text, invalid_request, "this id is in use already");
        co_await out.finish(std::move(refused));
        co_return;
    }
    call c(ex_);
    running_.emplace(*id, &c);
    answer said = co_await dispatch(m, c, out);
    running_.erase(*id);
    if (said.cancelled) {
        co_await out.finish_cancelled();
        co_return;
    }
    std::string response = said.code == 0
                               ? wire::make_result(id_text, said.result)
                               : wire::make_error(id_text, said.code, said.message, said.data);
    co_await out.finish(std::move(response));
}

void session::take(const wire::message& m) {
    if (m.is_response()) {
        auto asked = asking_.find(std::string(m.view(m.id)));
        if (asked == asking_.end()) return; // late, or never asked
        asked->second->heard_error = m.kind == wire::message_kind::error;
        asked->second->heard = m.view(asked->second->heard_error ? m.error : m.result);
        asked->second->flag.wake();
        return;
    }
    if (!m.method_is("notifications/cancelled")) return;
    auto id = m.request_id_token();
    auto found = id ? running_.find(*id) : running_.end();
    if (found == running_.end()) return; // unknown or finished: ignored, as the protocol has it
    found->second->cancelled = true;
    found->second->flag.wake();
}

void session::cancel_everything() {
    for (auto& [id, c] : running_) {
        c->cancelled = true;
        c->flag.wake();
    }
}

aio::task<answer> session::dispatch(const wire::message& m, call& c, outlet& out) {
    std::string method = m.method_text();
    if (method == "initialize") co_return initialize(m);
    if (method == "ping") co_return answer::of("{}");
    if (!opened()) co_return answer::failure(invalid_request, "initialize comes first");
    if (method == "tools/list") co_return list_tools(m, options_);
    if (method == "tools/call") co_return co_await call_tool(m, c, out);
    if (method == "prompts/list") co_return list_prompts();
    if (method == "prompts/get") co_return get_prompt(m);
    if (method == "resources/list") co_return list_resources();
    if (method == "resources/templates/list") co_return list_templates();
    if (method == "resources/read") co_return read_resource(m);
    if (method == "completion/complete") co_return complete(m);
    if (method == "logging/setLevel") co_return set_level(m);
    co_return answer::failure(method_not_found, "Method not found");
}

answer session::initialize(const wire::message& m) {
    if (opened()) return answer::failure(invalid_request, "this session is initialized already");
    auto asked = m.string_at(m.protocol_version);
    if (!asked) return answer::failure(invalid_params, "params.protocolVersion is missing");
    revision_ = knows(*asked) ? *asked : std::string(revisions.back());
    auto can = m.capabilities.present() ? m.view(m.capabilities) : std::string_view("{}");
    host_answers_ = wire::object_view(can).find("elicitation").has_value();
    return answer::of(
        R"({"protocolVersion":")" + revision_ +
        R"(","capabilities":{"tools":{},"prompts":{},"resources":{},"completions":{},"logging":{}},)"
        R"("serverInfo":{"name":"sluice-demo-upstream","title":"Sluice demo","version":")" SLUICE_VERSION
        R"("},"instructions":"A demo: countdown reports progress, echo returns what it is given."})"
    );
}

answer session::set_level(const wire::message& m) {
    auto name = m.string_at(m.level);
    auto found = name ? std::find(levels.begin(), levels.end(), *name) : levels.end();
    if (found == levels.end()) return answer::failure(invalid_params, "unknown logging level");
    log_level_ = static_cast<int>(found - levels.begin());
    return answer::of("{}");
}

aio::task<> session::log(outlet& out, int level, std::string text) {
    if (!log_level_ || level < *log_level_) co_return;
    std::string params = R"({"level":")" + std::string(levels[static_cast<std::size_t>(level)]) +
                         R"(","logger":"demo","data":)" + wire::quote(text) + "}";
    std::string message = wire::make_notification("notifications/message", params);
    co_await out.note(std::move(message));
}

// Since 2025-11-25 arguments of a wrong kind are the tool's error, not the protocol's (SEP-1303).
answer session::bad_arguments(std::string what) const {
    if (revision_ >= "2025-11-25") return answer::of(text_result(what, true));
    return answer::failure(invalid_params, std::move(what));
}

aio::task<answer> session::call_tool(const wire::message& m, call& c, outlet& out) {
    auto name = m.string_at(m.name);
    if (!name) co_return answer::failure(invalid_params, "params.name is missing");
    if (m.arguments.present() && wire::kind_of(m.view(m.arguments)) != wire::kind::object)
        co_return answer::failure(invalid_params, "params.arguments is not an object");
    if (*name == "countdown") co_return co_await countdown(m, c, out);
    if (*name == "slow") co_return co_await slow(m, c, out);
    if (*name == "ask") co_return co_await ask(m, c, out);
    if (*name == "echo") co_return echo(m);
    if (*name == "fail") {
        auto said = m.arguments.present() ? wire::object_view(m.view(m.arguments)).find("message")
                                          : std::optional<std::string_view>();
        bool text = said && wire::kind_of(*said) == wire::kind::string;
        co_return answer::of(
            text_result(text ? wire::unescape(*said) : "this tool always fails", true)
        );
    }
    if (is_extra_tool(*name, options_)) co_return answer::of(text_result("I am " + *name));
    co_return answer::failure(invalid_params, "Unknown tool: " + *name);
}

answer session::echo(const wire::message& m) const {
    std::string_view given = m.arguments.present() ? m.view(m.arguments) : "{}";
    std::string result = R"({"content":[{"type":"text","text":)" + wire::quote(given) + "}]";
    if (revision_ >= "2025-06-18") result += R"(,"structuredContent":)" + std::string(given);
    return answer::of(result + "}");
}

aio::task<answer> session::countdown(const wire::message& m, call& c, outlet& out) {
    auto from = number(m, "from", 10, 100'000);
    auto delay = number(m, "delay_ms", 100, 60'000);
    if (!from || *from == 0) co_return bad_arguments("from: a whole number from 1 to 100000");
    if (!delay) co_return bad_arguments("delay_ms: a whole number up to 60000");
    co_await log(out, debug, "countdown begins");
    std::string total = std::to_string(*from);
    for (std::uint64_t step = 1; step <= *from; ++step) {
        if (*delay > 0) co_await c.flag.wait(aio::clock::now() + std::chrono::milliseconds(*delay));
        if (c.cancelled) co_return answer::nothing();
        if (!m.progress_token.present()) continue;
        std::string params = R"({"progressToken":)" + std::string(m.view(m.progress_token)) +
                             R"(,"progress":)" + std::to_string(step) + R"(,"total":)" + total;
        if (revision_ >= "2025-03-26")
            params += R"(,"message":")" + std::to_string(*from - step) + R"( to go")";
        std::string note = wire::make_notification("notifications/progress", params + "}");
        co_await out.note(std::move(note));
    }
    co_await log(out, info, "countdown is over");
    co_return answer::of(text_result("counted down from " + total));
}

aio::task<answer> session::slow(const wire::message& m, call& c, outlet& out) {
    auto ms = number(m, "ms", 1'000, 3'600'000);
    if (!ms) co_return bad_arguments("ms: a whole number up to 3600000");
    co_await log(out, debug, "slow begins");
    auto until = aio::clock::now() + std::chrono::milliseconds(*ms);
    bool woken = co_await c.flag.wait(until);
    if (woken || c.cancelled) co_return answer::nothing();
    co_return answer::of(text_result("waited " + std::to_string(*ms) + " ms"));
}

} // namespace sluice::app::demo
