// One Redis server as the engine uses it: one connection that many commands share, in order, made
// again for ever when it is lost. Commands of one turn of the loop leave in one write. Commands
// wait here while there is no connection, but never past their deadline; what was sent on a
// connection that broke is never sent again. Internal to state.
#pragma once

#include "aio/channel.hpp"
#include "aio/nursery.hpp"
#include "state/redis_link.hpp"
#include "state/redis_scripts.hpp"
#include "state/redis_uptime.hpp"
#include "state/store.hpp"

#include <array>
#include <deque>
#include <functional>

namespace sluice::state {

struct redis_command {
    std::string_view op; // for the metrics
    std::string key;     // with its prefix; empty when it has none
    // A script's arguments, or the whole command.
    redis_words words;
    const redis_script* script = nullptr;
    bool whole_script = false; // the server does not know its digest
    bool asking = false;       // the slot is being moved to this server
    int tries = 0;
    std::size_t bytes = 0; // as it is counted while it waits or is under way
    aio::instant since{};
    aio::instant until{};
    // Called exactly once, from the loop; must be brief.
    std::function<void(base::result<wire::resp_reply>)> done;
};

// Where to connect; asked before each attempt.
using redis_finder = std::function<aio::task<base::result<redis_address>>(aio::instant until)>;

class redis_node {
public:
    struct reports {
        // A reply, or why there is none. Whoever gets it calls the command's done.
        std::function<void(redis_command, base::result<wire::resp_reply>)> answered;
        std::function<void(const base::fault*)> changed; // null: it is up
    };

    redis_node(redis_surroundings& around, redis_finder find, reports tell);
    ~redis_node();

    void start();
    aio::task<> shut_down();
    // Takes it, or says why not and leaves it as it is.
    std::optional<base::fault> submit(redis_command& command);

    health how() const { return uptime_.how(); }
    // The server serves no slot any more: what was not sent yet is taken back, and whether it is up
    // is told no more.
    std::deque<redis_command> let_go();
    // Commands are under way.
    bool is_asked() const { return !sent_.empty(); }

private:
    aio::task<> run();
    aio::task<base::result<void>> connect();
    aio::task<base::result<void>> learn_scripts(aio::instant until);
    aio::task<> write_loop();
    aio::task<base::fault> read_loop();
    aio::task<> rest(aio::duration length);
    std::string encode_next();
    bool must_fail(const redis_command& command, aio::instant now) const;
    void fail_overdue();
    void fail_all(const base::fault& why);
    void now_up(bool up, const base::fault* why);

    redis_surroundings& around_;
    redis_finder find_;
    reports tell_;
    std::unique_ptr<redis_link> link_;
    bool writing_ = false; // the writer of link_ lives
    std::deque<redis_command> unsent_;
    std::deque<redis_command> sent_;
    std::array<std::string, scripts::count> digests_; // "" = not known there
    aio::signal_flag work_; // something to write, or the connection is lost
    aio::signal_flag idle_; // the pause between attempts
    redis_uptime uptime_;
    base::fault last_{base::errc::unreachable, "the store has not been reached yet"};
    aio::nursery writer_;
    aio::nursery runner_;
};

// 50 ms, doubled with each failure up to 2 s, less up to half of it by chance.
aio::duration redis_backoff(unsigned failures);

} // namespace sluice::state
