// Everything that one reading of the configuration file decides. A reload makes a new one; requests
// that came under the old one end there, and keep it until then. Servers whose connection did not
// change are the same objects in both. What a process has once stands in `grounds` and outlives
// all.
#pragma once

#include "app/settings.hpp"
#include "front/front.hpp"
#include "gateway/gateway.hpp"
#include "policy/access.hpp"
#include "policy/keyring.hpp"

#include <memory>
#include <vector>

namespace sluice::app {

class generation : public std::enable_shared_from_this<generation> {
public:
    static std::shared_ptr<generation> make(
        const gateway::grounds& on,
        settings from,
        std::vector<gateway::shared_served> servers,
        const sys::sealer& seals,
        state::store& store,
        front::doorman& door
    );

    // Requests and calls of hosts keep what this gives; listening streams do not.
    std::shared_ptr<const void> occupy();
    bool is_occupied() const { return !lease_.expired(); }

    bool has(const gateway::shared_served& server) const;

private:
    generation(
        const gateway::grounds& on,
        settings from,
        std::vector<gateway::shared_served> servers,
        const sys::sealer& seals,
        state::store& store,
        front::doorman& door
    );

    struct lease {
        std::shared_ptr<generation> of;
    };

    std::weak_ptr<lease> lease_;

public:
    const settings from;
    const catalog::directory names;
    const policy::keyring keys;
    const policy::authoriser authoriser;
    gateway::pager pages;
    gateway::house in;
    gateway::gateway walk;
    front::front entrance;
};

} // namespace sluice::app
