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

// A session whose lists the configuration has changed: all of them, or those of tools alone.
struct changed {
    std::shared_ptr<session::session> host;
    bool all = false;
};

struct renewed {
    std::size_t ended = 0; // sessions
    std::size_t told = 0;
    std::vector<changed> to_tell; // those that other replicas may know, too
};

// Sessions that only this replica knows are told at once.
renewed renew_sessions(const ruled& before, const ruled& now);

// Tells the host, unless another replica has done so for that configuration (a word that all of
// them give it). errc::unreachable, or another fault of the store, when it is to be tried again.
aio::task<base::result<bool>> tell_once(const grounds& in, changed what, std::string configuration);

// When nothing runs under an older configuration any more: sessions close what they may not use.
void close_unused(const grounds& in);

} // namespace sluice::gateway
