// What everything that belongs to one server shares: its settings, health, numbers and helpers.
// Held by the server, its links and their replies, so that none of them outlives what it counts in.
#pragma once

#include "aio/nursery.hpp"
#include "upstream/circuit.hpp"
#include "upstream/server.hpp"
#include "upstream/trouble.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace sluice::upstream {

struct core {
    core(surroundings with, server_settings about, circuit_settings rules)
        : around(std::move(with)), settings(std::move(about)), health(rules),
          helpers(around.loop.get_executor(), "upstream"),
          streams(around.loop.get_executor(), "upstream") {}

    // One of the outcomes that tell whether the server is there. Only failures to reach it count.
    void note(const base::fault& problem);
    void note_success();
    // One line of the log, at warn, when this is news: what failed, and what to do.
    void report(std::string_view doing, const base::fault& why);
    // Requests of the upstream's that get no answer: more than anybody can be told of.
    void leave_unanswered(std::size_t requests);
    // errc::unreachable while the circuit is open or after shut_down.
    base::result<void> admit();
    void say(std::string_view text) const {
        if (around.say) around.say(settings.name, text);
    }

    surroundings around;
    server_settings settings;
    circuit health;
    // Short errands: answers to the upstream's own requests, resumed streams, readers of pipes.
    aio::nursery helpers;
    // Readers of streams that stand as long as a session: as many as there are sessions.
    aio::nursery streams;
    trouble worries;
    server_status numbers; // circuit, failures and bytes are filled in by status()
    bool stopped = false;
};

// Keeps a number up by one for as long as it lives.
class counted {
public:
    counted(std::shared_ptr<core> of, std::size_t server_status::* which)
        : of_(std::move(of)), which_(which) {
        ++(of_->numbers.*which_);
    }
    counted(counted&&) = default;
    counted& operator=(counted&&) = delete;
    ~counted() {
        if (of_) --(of_->numbers.*which_);
    }

private:
    std::shared_ptr<core> of_;
    std::size_t server_status::* which_;
};

// errc::too_many when max_concurrent_requests are under way.
base::result<std::unique_ptr<counted>> take_place(const std::shared_ptr<core>& in);

} // namespace sluice::upstream
