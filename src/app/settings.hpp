// All settings of one process: what the file says, with defaults, each struct kept beside its
// owner.
#pragma once

#include "catalog/settings.hpp"
#include "front/settings.hpp"
#include "gateway/settings.hpp"
#include "policy/settings.hpp"
#include "session/settings.hpp"
#include "state/redis_settings.hpp"
#include "sys/log_settings.hpp"
#include "upstream/settings.hpp"

#include <string>

namespace sluice::app {

struct store_settings {
    bool shared = false; // else memory, and `redis` means nothing
    state::redis_settings redis;
    std::chrono::milliseconds unready_after{10'000};
};

struct settings {
    front::settings front;
    session::settings session;
    policy::settings policy;
    catalog::settings catalog;
    gateway::settings gateway;
    upstream::settings upstream;
    store_settings store;
    sys::log_settings log;
    // SHA-256 of what hosts can see of the configuration; cursors are bound to it.
    std::string registry_digest;
};

} // namespace sluice::app
