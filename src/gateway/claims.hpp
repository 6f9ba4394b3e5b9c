// What one replica at a time does for a session, by a field of the session's record that holds the
// replica's id: listening to an upstream, the reading of the standing stream. Decision 2.
#pragma once

#include "aio/task.hpp"
#include "base/result.hpp"
#include "gateway/operation.hpp"
#include "session/session.hpp"

#include <string>

namespace sluice::gateway {

struct claimed {
    bool mine = false;
    bool from_dead = false; // that replica's, who had it
    std::string holder;     // who has it, when it is not this replica
};

// Takes it where nobody has it, or who has it is dead (or whoever has it, with `from_anyone`).
// errc::not_found when the session has ended, errc::unreachable when the store is away.
aio::task<base::result<claimed>>
claim(const grounds& in, const session::session& host, std::string field, bool from_anyone);

// Lets go of it; in the background, for as long as the store is away.
void unclaim(const grounds& in, const session::session& host, std::string field);

} // namespace sluice::gateway
