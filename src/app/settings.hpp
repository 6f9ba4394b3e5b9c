// All settings of one process: what the file says, with defaults, each struct kept beside its
// owner.
#pragma once

#include "catalog/settings.hpp"
#include "front/settings.hpp"
#include "gateway/settings.hpp"
#include "policy/settings.hpp"
#include "session/settings.hpp"
#include "sys/log_settings.hpp"
#include "upstream/settings.hpp"

#include <string>

namespace sluice::app {

struct settings {
    front::settings front;
    session::settings session;
    policy::settings policy;
    catalog::settings catalog;
    gateway::settings gateway;
    upstream::settings upstream;
    sys::log_settings log;
    // SHA-256 of what hosts can see of the configuration; cursors are bound to it.
    std::string registry_digest;
};

} // namespace sluice::app
