// One Redis server as the engine uses it: one connection that many commands share, in order, made
// again for ever when it is lost. Commands of one turn of the loop leave in one write. Commands
// wait here while there is no connection, but never past their deadline; what was sent on a
// connection that broke is never sent again. Internal to state.
#pragma once

#include "state/redis_line.hpp"
#include "state/redis_scripts.hpp"
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

class redis_node final : public redis_line {
public:
    struct reports {
        // A reply, or why there is none. Whoever gets it calls the command's done.
        std::function<void(redis_command, base::result<wire::resp_reply>)> answered;
        std::function<void(const base::fault*)> changed; // null: it is up
    };

    redis_node(redis_surroundings& around, redis_finder find, reports tell);
    ~redis_node() override;

    // Takes it, or says why not and leaves it as it is.
    std::optional<base::fault> submit(redis_command& command);

    // The server serves no slot any more: what was not sent yet is taken back, and whether it is up
    // is told no more.
    std::deque<redis_command> let_go();
    // Commands are under way.
    bool is_asked() const { return !sent_.empty(); }

private:
    aio::task<base::result<void>> prepare(aio::instant until) override; // learns the scripts
    void stands() override;
    void fell(const base::fault& why) override;
    void lost(const base::fault& why) override;
    void ended() override;
    std::string next_bytes() override;
    aio::task<base::fault> read_loop() override;
    aio::task<> rest(aio::duration length) override;
    std::string encode_next();
    bool must_fail(const redis_command& command, aio::instant now) const;
    void fail_overdue();
    void fail_all(std::deque<redis_command>& queue, const base::fault& why);

    reports tell_;
    std::deque<redis_command> unsent_;
    std::deque<redis_command> sent_;
    std::array<std::string, scripts::count> digests_; // "" = not known there
    base::fault last_{base::errc::unreachable, "the store has not been reached yet"};
};

} // namespace sluice::state
