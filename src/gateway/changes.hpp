// The `list_changed` of one host session: at most one per kind per second, whichever upstream it is
// of and whichever replica hears it, and the last one always. Owned by session_links.
#pragma once

#include "aio/nursery.hpp"
#include "aio/task.hpp"
#include "session/session.hpp"
#include "wire/message.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace sluice::gateway {

bool is_list_change(const wire::message& note);

class changes {
public:
    // `chores` runs what is told later; it is stopped and joined before this goes.
    changes(session::session& host, aio::nursery& chores) : host_(host), chores_(chores) {}

    // Tells it on the standing stream, now or in a while. `note` is the whole message.
    void tell(std::string method, std::string note);
    // The same on the stream of the call it came in, if that may be now.
    aio::task<>
    tell_in(std::shared_ptr<session::stream> call, std::string method, std::string note);

private:
    struct storm {
        aio::instant quiet_until{};
        bool waiting = false;
        std::string latest;
        std::uint64_t come = 0; // how many had, when `latest` did
        // What stood for the last one told anywhere when `latest` had come; empty = not looked at.
        std::string before;
    };
    enum class turn : std::uint8_t { ours, not_yet, told_since };

    void keep_for_later(storm& s, std::string method, std::string note);
    aio::task<> tell_later(std::string method);
    aio::task<turn> take_turn(std::string method);

    session::session& host_;
    aio::nursery& chores_;
    std::map<std::string, storm> storms_; // by method: three kinds, never erased
};

} // namespace sluice::gateway
