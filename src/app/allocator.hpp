// How the C library's allocator is set for a gateway. Used by `serve`, before anything is allocated
// that lasts.
#pragma once

namespace sluice::app {

// glibc keeps seven freed blocks of each small size at hand. Dozens of calls at once free more, and
// what is over goes the slow way: 8 % of a call's CPU at 32. That number is only read from the
// environment when a process starts, so this starts the process once more, the same in everything
// else. Returns when that is done, when the operator has set GLIBC_TUNABLES, or when it cannot be
// done.
void keep_more_blocks_at_hand();

} // namespace sluice::app
