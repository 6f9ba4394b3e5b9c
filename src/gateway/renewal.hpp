// What a new configuration means for the host sessions that are open: whose key is gone ends, whose
// lists have changed is told, and what a session may use no more is not heard any more.
#pragma once

#include "gateway/gateway.hpp"
#include "policy/keyring.hpp"

namespace sluice::gateway {

// One configuration's side of it.
struct ruled {
    const gateway& walk;
    const house& in;
    const policy::keyring& keys;
};

struct renewed {
    std::size_t ended = 0; // sessions
    std::size_t told = 0;
};

renewed renew_sessions(const ruled& before, const ruled& now);

// When nothing runs under an older configuration any more: sessions close what they may not use.
void close_unused(const grounds& in);

} // namespace sluice::gateway
