// Streams that are read on this replica while their calls run, or ran, on another: the rest of a
// broken one, the standing one, and what becomes of a call whose replica is dead. Nothing is sent
// to an upstream twice: an answer is gone on with where the upstream offers that, else the call
// ends with an error that says its outcome is unknown. Decisions 2, 4 and 6.
#pragma once

#include "aio/task.hpp"
#include "base/result.hpp"
#include "gateway/operation.hpp"
#include "session/session.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace sluice::gateway {

// The stream with that handle. errc::not_found when there is none (any more), errc::unreachable
// when the store is away.
aio::task<base::result<std::shared_ptr<session::stream>>>
open_rest(house& in, std::shared_ptr<session::session> host, std::string handle);

// The standing stream, from what nobody has read yet. errc::conflict while another GET of the
// session, on whatever replica, reads it; not so when the host comes back with an event id of it.
// Give it back with leave_standing when the GET ends.
aio::task<base::result<std::shared_ptr<session::stream>>>
open_standing(house& in, std::shared_ptr<session::session> host, bool by_id);
void leave_standing(const grounds& in, const std::shared_ptr<session::session>& host);

// Tells all replicas that this one reads the stream now (others stop), or does no more.
void announce_reader(const session::session& host, std::string_view handle, bool reads);

} // namespace sluice::gateway
