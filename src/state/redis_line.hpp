// A connection that is made again and again: found, opened, written to and read until it breaks,
// then tried anew after a pause, for as long as its owner wants. What travels on it is for those
// who derive from it to say. Internal to state.
#pragma once

#include "aio/channel.hpp"
#include "aio/nursery.hpp"
#include "state/redis_link.hpp"
#include "state/redis_uptime.hpp"

#include <functional>
#include <memory>
#include <string>

namespace sluice::state {

// Where to connect; asked before each attempt.
using redis_finder = std::function<aio::task<base::result<redis_address>>(aio::instant until)>;

class redis_line {
public:
    redis_line(redis_surroundings& around, redis_finder find);
    redis_line(const redis_line&) = delete;
    redis_line& operator=(const redis_line&) = delete;
    virtual ~redis_line();

    void start();
    aio::task<> shut_down();
    health how() const { return uptime_.how(); }

protected:
    // What has to be asked before anything else is sent.
    virtual aio::task<base::result<void>> prepare(aio::instant until);
    virtual void stands() = 0;                     // a connection was made
    virtual void fell(const base::fault& why) = 0; // it broke, or none could be made
    virtual void lost(const base::fault& why);     // and its writer has gone
    virtual void ended();                          // for good
    // What is to be sent now; asked again after work_ was woken.
    virtual std::string next_bytes() = 0;
    // Until the connection breaks; why.
    virtual aio::task<base::fault> read_loop() = 0;
    virtual aio::task<> rest(aio::duration length);

    bool stopping() const { return runner_.stopping(); }

    redis_surroundings& around_;
    std::unique_ptr<redis_link> link_;
    aio::signal_flag work_; // something to write, or the connection is lost
    aio::signal_flag idle_; // the pause between attempts
    redis_uptime uptime_;

private:
    aio::task<> run();
    aio::task<base::result<void>> connect();
    aio::task<> write_loop();

    redis_finder find_;
    bool writing_ = false; // the writer of link_ lives
    aio::nursery writer_;
    aio::nursery runner_;
};

// 50 ms, doubled with each failure up to 2 s, less up to half of it by chance.
aio::duration redis_backoff(unsigned failures);

} // namespace sluice::state
