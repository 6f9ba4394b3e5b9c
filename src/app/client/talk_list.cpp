#include "app/client/conversation.hpp"
#include "app/client/result_text.hpp"
#include "app/client/talk.hpp"
#include "app/client/terminal.hpp"
#include "wire/json.hpp"

#include <cstdio>
#include <unistd.h>

namespace sluice::app {

using base::errc;

namespace {

std::string first_paragraph(std::string_view text) {
    return one_line(text.substr(0, text.find("\n\n")));
}

void print_tools(const terminal& out, const listing& tools) {
    std::vector<row> rows;
    for (const auto& item : tools.items) {
        row r;
        r.left = one_line(text_member(item, "name").value_or("?"));
        r.right = first_paragraph(text_member(item, "description").value_or(""));
        rows.push_back(std::move(r));
    }
    std::fputs(two_columns(out, rows).c_str(), stdout);
}

std::string counted(std::size_t n, std::string_view what) {
    return std::to_string(n) + " " + std::string(what) + (n == 1 ? "" : "s");
}

// What else there is, counted: ", 1 prompt, 2 resources, 1 template".
aio::task<base::result<std::string>> count_rest(mcp_client& client, std::string_view result) {
    struct other {
        const char *capability, *method, *key, *word;
    };
    static constexpr other others[] = {
        {"prompts", "prompts/list", "prompts", "prompt"},
        {"resources", "resources/list", "resources", "resource"},
        {"resources", "resources/templates/list", "resourceTemplates", "template"},
    };
    std::string text;
    for (const auto& kind : others) {
        if (!has_capability(result, kind.capability)) continue;
        auto found = co_await list_all(client, kind.method, kind.key);
        if (!found && found.error().code == errc::upstream_error) continue; // claimed, not served
        if (!found) co_return found.error();
        text += ", " + counted(found->items.size(), kind.word);
    }
    co_return text;
}

aio::task<int> list_session(conversation& c, const std::string& url) {
    auto opened = co_await open_session(c.client);
    if (!opened) {
        complain(sentence(opened.error(), url));
        co_return exit_status::failed;
    }
    auto result = opened->view(opened->result);
    listing tools;
    if (has_capability(result, "tools")) {
        auto found = co_await list_all(c.client, "tools/list", "tools");
        if (!found) {
            complain(sentence(found.error(), url));
            co_return exit_status::failed;
        }
        tools = std::move(*found);
    }
    auto rest = co_await count_rest(c.client, result);
    auto out = look_at(STDOUT_FILENO);
    std::string title = one_line(server_title(result));
    std::printf(
        "%s  %s\n",
        painted(out, paint::bold, title).c_str(),
        painted(out, paint::dim, "(MCP " + one_line(c.client.revision()) + ")").c_str()
    );
    std::string more = rest ? *rest : std::string();
    std::printf("%s%s\n", counted(tools.items.size(), "tool").c_str(), more.c_str());
    if (!tools.items.empty()) std::putchar('\n');
    print_tools(out, tools);
    for (const auto& bad : tools.failures)
        complain("not listed, " + bad);
    if (!rest) {
        complain(sentence(rest.error(), url));
        co_return exit_status::failed;
    }
    co_return exit_status::ok;
}

aio::task<> list_job(conversation& c, std::string url) {
    co_await aio::keep_running_when_cancelled();
    c.status = co_await list_session(c, url);
    co_await c.client.close();
    c.signals.cancel();
}

} // namespace

int list_command(const talk_options& options) {
    auto settings = settings_of(options);
    if (!settings) {
        complain(settings.error().message);
        return exit_status::usage;
    }
    conversation c(std::move(*settings));
    return run(c, list_job(c, options.url));
}

} // namespace sluice::app
