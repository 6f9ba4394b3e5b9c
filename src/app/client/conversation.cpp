#include "app/client/conversation.hpp"

#include "app/client/result_text.hpp"
#include "app/client/terminal.hpp"
#include "base/text.hpp"
#include "wire/json.hpp"

#include <cstdio>
#include <cstdlib>
#include <set>
#include <unistd.h>

namespace sluice::app {

using base::errc;
using base::fault;

namespace {

// Ctrl-C: tells the server, ends the session, leaves. Bounded; a second Ctrl-C leaves at once.
aio::task<> give_up(conversation& c) {
    co_await aio::keep_running_when_cancelled();
    std::string params = R"({"requestId":)" + std::to_string(c.client.last_id()) +
                         R"(,"reason":"interrupted by the user"})";
    if (c.calling) {
        auto told = co_await c.client.notify("notifications/cancelled", std::move(params));
        (void)told; // we leave either way
    }
    co_await c.client.close();
    std::fflush(stdout);
    std::_Exit(exit_status::interrupted);
}

void watch_signals(conversation& c) {
    c.signals.async_wait([&c](aio::error_code failed, int) {
        if (failed) return;
        c.interrupted = true;
        std::fputs("\nsluice: cancelling\n", stderr);
        std::signal(SIGALRM, [](int) { std::_Exit(exit_status::interrupted); });
        ::alarm(3);
        c.signals.async_wait([](aio::error_code again, int) {
            if (!again) std::_Exit(exit_status::interrupted);
        });
        c.tasks.spawn(give_up(c));
    });
}

} // namespace

void complain(const std::string& text) {
    auto err = look_at(STDERR_FILENO);
    std::fprintf(
        stderr, "%s %s\n", painted(err, paint::red, "sluice:").c_str(), one_line(text).c_str()
    );
}

std::string sentence(const fault& f, const std::string& url) {
    if (f.code == errc::unreachable) return "cannot reach " + url + ": " + f.message;
    if (f.code == errc::timeout) return url + " said nothing in time (see --timeout)";
    if (f.code == errc::unauthorized)
        return f.message + " (a key goes in --header \"x-sluice-api-key: …\")";
    if (f.http_status == 404) return f.message + " at " + url + "; MCP endpoints often end in /mcp";
    return f.message;
}

std::string rpc_sentence(const wire::message& m) {
    auto text = m.string_at(m.error_message).value_or("no message");
    return "the server answered error " + std::string(m.view(m.error_code)) + ": " + text;
}

base::result<mcp_client_settings> settings_of(const talk_options& options) {
    mcp_client_settings s;
    auto url = net::parse_url(options.url);
    if (!url) return fault(errc::invalid_request, options.url + ": " + url.error().message);
    s.endpoint = *url;
    s.silence = std::chrono::seconds(options.timeout_seconds);
    for (const auto& header : options.headers) {
        auto colon = header.find(':');
        auto name = base::trim(std::string_view(header).substr(0, colon));
        bool broken = colon == std::string::npos || name.empty() ||
                      header.find_first_of("\r\n") != std::string::npos ||
                      name.find_first_of(" \t") != std::string_view::npos;
        if (broken) return fault(errc::invalid_request, "--header wants \"Name: value\"");
        s.headers.add(
            std::string(name), std::string(base::trim(std::string_view(header).substr(colon + 1)))
        );
    }
    return s;
}

int run(conversation& c, aio::task<> job) {
    watch_signals(c);
    c.tasks.spawn(std::move(job));
    // Not until the loop has no work: the pool keeps idle connections.
    while (c.tasks.size() > 0)
        c.loop.run_one();
    return c.status;
}

aio::task<base::result<listing>> list_all(mcp_client& client, std::string method, std::string key) {
    listing all;
    std::set<std::string> seen;
    std::string params;
    for (;;) {
        auto page = co_await client.request(method, params);
        if (!page) co_return page.error();
        if (page->kind != wire::message_kind::result)
            co_return fault(errc::upstream_error, rpc_sentence(*page));
        auto result = page->view(page->result);
        auto items = wire::object_view(result).find(key);
        if (!items || wire::kind_of(*items) != wire::kind::array)
            co_return fault(errc::protocol, "the answer to " + method + " has no " + key);
        for (auto item : wire::array_view(*items))
            all.items.emplace_back(item);
        for (auto& bad : bad_outcomes(result))
            all.failures.push_back(std::move(bad));
        if (!page->next_cursor.present()) co_return all;
        std::string cursor(page->view(page->next_cursor));
        if (!seen.insert(cursor).second)
            co_return fault(errc::protocol, "the pages of " + method + " go round in circles");
        params = R"({"cursor":)" + cursor + "}";
    }
}

aio::task<base::result<wire::message>> open_session(mcp_client& client) {
    auto opened = co_await client.open();
    if (!opened) co_return opened.error();
    if (opened->kind == wire::message_kind::error)
        co_return fault(errc::upstream_error, rpc_sentence(*opened));
    co_return opened;
}

} // namespace sluice::app
