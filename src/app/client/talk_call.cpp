#include "app/client/arguments.hpp"
#include "app/client/conversation.hpp"
#include "app/client/result_text.hpp"
#include "app/client/talk.hpp"
#include "app/client/terminal.hpp"
#include "base/text.hpp"
#include "wire/json.hpp"

#include <cstdio>
#include <unistd.h>

namespace sluice::app {

namespace {

void show_note(const wire::message& m, progress_line& line) {
    if (!m.params.present()) return;
    wire::object_view params(m.view(m.params));
    if (m.method_is("notifications/progress")) {
        auto progress = params.find("progress");
        auto total = params.find("total");
        auto text = text_member(m.view(m.params), "message");
        auto number = [](std::optional<std::string_view> v) {
            bool is = v && wire::kind_of(*v) == wire::kind::number;
            return is ? std::string(*v) : std::string();
        };
        line.update(number(progress), number(total), text.value_or(""));
    } else if (m.method_is("notifications/message")) {
        auto level = text_member(m.view(m.params), "level").value_or("log");
        auto data = params.find("data");
        bool text = data && wire::kind_of(*data) == wire::kind::string;
        auto said = text ? wire::unescape(*data) : std::string(data.value_or(""));
        line.say("[" + one_line(level) + "] " + one_line(said));
    }
}

// The tool's inputSchema; empty when no list names it (it may still be routed by a bare name).
aio::task<base::result<std::string>>
schema_of(mcp_client& client, std::string tool, std::string& hint) {
    auto tools = co_await list_all(client, "tools/list", "tools");
    if (!tools) co_return tools.error();
    std::vector<std::string> names;
    for (const auto& item : tools->items) {
        names.push_back(text_member(item, "name").value_or(""));
        if (names.back() != tool) continue;
        auto schema = wire::object_view(item).find("inputSchema");
        co_return std::string(schema.value_or(""));
    }
    if (auto near = base::nearest(tool, names)) hint = "; did you mean '" + *near + "'?";
    co_return std::string();
}

void print_result(const wire::message& m, const call_options& options) {
    auto result = m.view(m.result);
    auto out = look_at(STDOUT_FILENO);
    std::string text = options.raw ? std::string(result) + "\n" : content_text(result);
    // Bytes as they are for a pipe or a file; for a terminal only what cannot harm it.
    if (out.tty) text = harmless(text);
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
}

aio::task<int> call_session(conversation& c, const call_options& options) {
    const auto& url = options.to.url;
    auto opened = co_await open_session(c.client);
    if (!opened) {
        complain(sentence(opened.error(), url));
        co_return exit_status::failed;
    }
    std::string arguments = options.json.empty() ? "{}" : options.json;
    std::string hint;
    if (!options.words.empty()) {
        auto schema = co_await schema_of(c.client, options.tool, hint);
        if (!schema) {
            complain(sentence(schema.error(), url));
            co_return exit_status::failed;
        }
        auto made = arguments_json(*split_words(options.words), *schema);
        if (!made) {
            complain(made.error().message);
            co_return exit_status::usage;
        }
        arguments = std::move(*made);
    }
    progress_line line(look_at(STDERR_FILENO), one_line(options.tool));
    std::string params = R"({"name":)" + wire::quote(options.tool) + R"(,"arguments":)" +
                         arguments + R"(,"_meta":{"progressToken":)" +
                         std::to_string(c.client.last_id() + 1) + "}}";
    mcp_client::note_sink show = [&line](const wire::message& m) { show_note(m, line); };
    c.calling = true;
    auto answer = co_await c.client.request("tools/call", std::move(params), std::move(show));
    c.calling = false;
    line.clear();
    if (c.interrupted) co_return exit_status::interrupted;
    if (!answer) {
        complain(sentence(answer.error(), url));
        co_return exit_status::failed;
    }
    if (answer->kind == wire::message_kind::error) {
        complain(rpc_sentence(*answer) + hint);
        co_return exit_status::failed;
    }
    print_result(*answer, options);
    if (!answer->is_error) co_return exit_status::ok;
    complain("the tool said that it failed");
    co_return exit_status::tool_error;
}

aio::task<> call_job(conversation& c, const call_options& options) {
    co_await aio::keep_running_when_cancelled();
    c.status = co_await call_session(c, options);
    co_await c.client.close();
    c.signals.cancel();
}

// What can be refused before anything is sent; an empty text when nothing is.
std::string wrong_usage(const call_options& options) {
    if (!options.json.empty() && !options.words.empty())
        return "either key=value words or --json, not both";
    auto words = split_words(options.words);
    if (!words) return words.error().message;
    if (options.json.empty()) return {};
    auto sound = wire::validate(options.json);
    if (!sound) return "--json: " + sound.error().message;
    if (wire::kind_of(base::trim(options.json)) != wire::kind::object)
        return "--json wants an object";
    return {};
}

} // namespace

int call_command(const call_options& options) {
    auto settings = settings_of(options.to);
    std::string wrong = settings ? wrong_usage(options) : settings.error().message;
    if (!wrong.empty()) {
        complain(wrong);
        return exit_status::usage;
    }
    conversation c(std::move(*settings));
    return run(c, call_job(c, options));
}

} // namespace sluice::app
