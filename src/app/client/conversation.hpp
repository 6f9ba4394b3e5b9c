// One command's talk with one MCP server: the loop, the client, Ctrl-C, and what list and call
// share. Lives for one command; everything in it ends with it.
#pragma once

#include "aio/nursery.hpp"
#include "app/client/mcp_client.hpp"
#include "app/client/talk.hpp"

#include <boost/asio/signal_set.hpp>

#include <csignal>
#include <string>
#include <vector>

namespace sluice::app {

// The client and the loop it lives on, for one command.
struct conversation {
    explicit conversation(mcp_client_settings settings)
        : deadlines(loop.get_executor()), client(loop, deadlines, std::move(settings)),
          tasks(loop.get_executor(), "cli"), signals(loop, SIGINT, SIGTERM) {}

    aio::loop loop{1};
    aio::deadlines deadlines;
    mcp_client client;
    aio::nursery tasks;
    aio::asio::signal_set signals;
    bool calling = false;
    bool interrupted = false; // by Ctrl-C: what fails now is no news
    int status = exit_status::failed;
};

// errc::invalid_request with a sentence when the URL or a header is unusable.
base::result<mcp_client_settings> settings_of(const talk_options& options);

// Runs the job until it is done, or until Ctrl-C; the conversation's status.
int run(conversation& c, aio::task<> job);

// All pages of one kind of list; items are exact JSON texts.
struct listing {
    std::vector<std::string> items;
    std::vector<std::string> failures; // servers behind the endpoint that could not be asked
};

aio::task<base::result<listing>> list_all(mcp_client& client, std::string method, std::string key);

// initialize; a JSON-RPC error is a fault (errc::upstream_error) here.
aio::task<base::result<wire::message>> open_session(mcp_client& client);

void complain(const std::string& text);
// One clear sentence for what went wrong while talking to `url`.
std::string sentence(const base::fault& f, const std::string& url);
std::string rpc_sentence(const wire::message& m);

} // namespace sluice::app
