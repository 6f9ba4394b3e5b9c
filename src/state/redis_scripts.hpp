// The Lua of the Redis engine: each does one step of the contract atomically, on one key. The
// layout of a record or log, one hash:
//   "."                 "r" record, "l" log
//   "epoch", "owner", "last", "first", "count", "bytes", "kept"   of a log
//   "names"             the names of its own fields, each followed by a line feed
//   "r:<name>"          its own fields
//   "e:<position>"      its entries: one letter of kind, then the bytes
// "first" is where trimming stands; "kept" names the positions before it that were kept.
// Internal to state.
#pragma once

#include <string>

namespace sluice::state {

struct redis_script {
    std::string text;
    int number; // of this script in a server's list of digests
};

namespace scripts {

inline constexpr int count = 14;

extern const redis_script put_new, replace;
extern const redis_script create, read, set, set_new, set_if, unset;
extern const redis_script append, read_log, adopt_log;
extern const redis_script enlist, leave, members;

const redis_script& at(int number);

} // namespace scripts

} // namespace sluice::state
