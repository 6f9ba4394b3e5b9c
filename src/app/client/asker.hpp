// Puts a server's questions to the person at the terminal, one after another, while the call's
// answer goes on being read. With nobody to ask it refuses them: no answer is ever made up.
// Questions that the server withdraws are no longer asked. One per conversation.
#pragma once

#include "aio/channel.hpp"
#include "app/client/dialog.hpp"
#include "app/client/line_input.hpp"
#include "app/client/mcp_client.hpp"
#include "app/client/terminal.hpp"
#include "wire/message.hpp"

#include <deque>
#include <string>

namespace sluice::app {

class asker {
public:
    // `ask` false: every question is refused (--yes).
    asker(aio::loop& loop, mcp_client& client, progress_line& line, bool ask);

    std::string server; // its title, as the person shall read it

    // Called for every request of the server; false for what is no question of ours.
    bool take(const wire::message& question);
    // notifications/cancelled of the server.
    void withdraw(const wire::message& note);
    // Asks until stop(); spawned once.
    aio::task<> run();
    void stop(); // the call is over: what is open is not asked any more

    // How many questions got no answer because nobody could be asked.
    std::size_t refused() const { return refused_; }

private:
    aio::task<> put(wire::message question);
    aio::task<base::result<std::string>> talk(dialog& d);
    aio::task<> send(std::string body);
    void rest_if_idle();

    mcp_client& client_;
    progress_line& line_;
    bool ask_;
    line_input input_;
    aio::signal_flag arrived_;
    std::deque<wire::message> waiting_;
    std::string current_; // the id's JSON text; empty when none is asked
    bool stopped_ = false;
    std::size_t refused_ = 0;
};

} // namespace sluice::app
