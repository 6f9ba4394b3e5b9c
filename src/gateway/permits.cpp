#include "gateway/permits.hpp"

#include "gateway/operation.hpp"
#include "policy/keyring.hpp"

namespace sluice::gateway {

base::result<policy::grant> permit_in(
    const house& in, const policy::keyring& keys, const session::identity& who, const served& server
) {
    auto caller = keys.known_as(who.principal);
    for (std::size_t i = 0; caller && i < in.servers.size(); ++i) {
        if (in.servers[i].get() != &server) continue;
        return in.authoriser.authorise(caller, in.names.server(i), policy::item_kind::server, {});
    }
    return base::fault(base::errc::not_found, "the session's caller has no such server");
}

} // namespace sluice::gateway
