// All live host sessions of this process: opening, finding (only for their own principal), ending.
// Bounds: max_sessions and sessions_per_key. At its own bound a key's longest idle session makes
// room, for many hosts leave without DELETE; when none is idle opening fails with errc::too_many.
#pragma once

#include "aio/nursery.hpp"
#include "aio/task.hpp"
#include "base/result.hpp"
#include "session/session.hpp"
#include "session/settings.hpp"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

namespace sluice::session {

class registry {
public:
    registry(aio::executor ex, settings bounds);

    // Makes the id, lists the session and starts its task.
    base::result<std::shared_ptr<session>> open(identity who);
    // A session that no id leads to, for one request without one (decision 7). End it when done.
    base::result<std::shared_ptr<session>> open_throw_away(identity who);

    // Null when unknown, ended, or another principal's: the three look the same.
    std::shared_ptr<session> find(std::string_view id, std::string_view principal);
    void end(session& s);

    std::size_t size() const { return sessions_.size(); }
    std::size_t streams_attached() const;
    std::size_t calls_under_way() const;
    const stream_counters& counters() const { return counters_; }
    const settings& bounds() const { return bounds_; }

    // Ends every session and joins.
    aio::task<> shut_down();

private:
    base::result<std::shared_ptr<session>> admit(identity who, std::string key);
    bool make_room_for(std::string_view principal);
    aio::task<> run(std::shared_ptr<session> s, std::string key);

    settings bounds_;
    stream_counters counters_;
    // By id; throw-away ones under a name that no header can hold.
    std::unordered_map<std::string, std::shared_ptr<session>> sessions_;
    std::uint64_t next_throw_away_ = 1;
    std::map<std::string, std::size_t, std::less<>> per_key_;
    aio::nursery tasks_;
};

} // namespace sluice::session
