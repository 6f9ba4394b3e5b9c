// Makes the Redis engine. Used by app.
#pragma once

#include "aio/deadlines.hpp"
#include "state/redis_settings.hpp"
#include "state/store.hpp"
#include "sys/meters.hpp"

#include <memory>

namespace sluice::state {

// errc::config when a certificate cannot be used. `meters` may be null. The store connects at
// start(); shut_down() must have been awaited before it is destroyed.
base::result<std::unique_ptr<store>> make_redis_store(
    aio::loop& loop, aio::deadlines& deadlines, redis_settings settings, sys::meters* meters
);

} // namespace sluice::state
