#include "app/client/arguments.hpp"
#include "app/client/asker.hpp"
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
    } else if (m.method_is("notifications/elicitation/complete")) {
        line.say("the server says that what it asked for is done");
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

// What one call has beside its conversation.
struct calling {
    calling(conversation& c, const call_options& options)
        : line(look_at(STDERR_FILENO), one_line(options.tool)),
          questions(c.loop, c.client, line, !options.yes) {}

    progress_line line;
    asker questions;
};

// An error that wants pages visited first names them; each is shown in full.
void show_pages(const wire::message& m) {
    auto data = wire::object_view(m.view(m.error)).find("data");
    auto pages = wire::object_view(data.value_or("{}")).find("elicitations");
    for (auto page : wire::array_view(pages.value_or("[]"))) {
        auto url = text_member(page, "url").value_or("?");
        complain("  " + text_member(page, "message").value_or("visit") + ": " + url);
    }
    complain("visit what you trust of these, then call again");
}

aio::task<int> call_session(conversation& c, calling& with, const call_options& options) {
    const auto& url = options.to.url;
    auto opened = co_await open_session(c.client);
    if (!opened) {
        complain(sentence(opened.error(), url));
        co_return exit_status::failed;
    }
    with.questions.server = server_title(opened->view(opened->result));
    c.client.on_question = [&with](const wire::message& m) { return with.questions.take(m); };
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
    std::string params = R"({"name":)" + wire::quote(options.tool) + R"(,"arguments":)" +
                         arguments + R"(,"_meta":{"progressToken":)" +
                         std::to_string(c.client.last_id() + 1) + "}}";
    mcp_client::note_sink show = [&with](const wire::message& m) {
        if (m.method_is("notifications/cancelled")) with.questions.withdraw(m);
        show_note(m, with.line);
    };
    c.calling = true;
    auto answer = co_await c.client.request("tools/call", std::move(params), std::move(show));
    c.calling = false;
    with.questions.stop();
    with.line.clear();
    if (c.interrupted) co_return exit_status::interrupted;
    if (!answer) {
        complain(sentence(answer.error(), url));
        co_return exit_status::failed;
    }
    if (answer->kind == wire::message_kind::error) {
        complain(rpc_sentence(*answer) + hint);
        if (answer->view(answer->error_code) == "-32042") show_pages(*answer);
        co_return with.questions.refused() > 0 ? exit_status::unanswered : exit_status::failed;
    }
    print_result(*answer, options);
    if (with.questions.refused() > 0) {
        complain("the server asked a question, and nobody was there to answer it");
        co_return exit_status::unanswered;
    }
    if (!answer->is_error) co_return exit_status::ok;
    complain("the tool said that it failed");
    co_return exit_status::tool_error;
}

aio::task<> call_job(conversation& c, calling& with, const call_options& options) {
    co_await aio::keep_running_when_cancelled();
    c.status = co_await call_session(c, with, options);
    with.questions.stop();
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
    // --yes is told of the questions too, and refuses them; else somebody has to be there.
    if (options.yes || line_input::somebody_is_there())
        settings->capabilities = R"({"elicitation":{"form":{},"url":{}}})";
    conversation c(std::move(*settings));
    calling with(c, options);
    c.tasks.spawn(with.questions.run());
    return run(c, call_job(c, with, options));
}

} // namespace sluice::app
