// What the gateway may ask of a server by itself for a host's session: to set its log level, to
// subscribe again, to listen. Such a request has no operation whose walk asked policy, so it asks
// here, of the configuration in force. Used by session_links; app gives the source.
#pragma once

#include "base/result.hpp"
#include "policy/access.hpp"
#include "session/identity.hpp"

#include <functional>

namespace sluice::policy {
class keyring;
}

namespace sluice::gateway {

struct house;
struct served;

using permits = std::function<base::result<policy::grant>(const session::identity&, const served&)>;

// errc::not_found when that session's caller, or that server, is not in this house any more, or
// when the one may not use the other.
base::result<policy::grant> permit_in(
    const house& in, const policy::keyring& keys, const session::identity& who, const served& server
);

} // namespace sluice::gateway
