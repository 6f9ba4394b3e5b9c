// The admin listener: /metrics, /healthz, /readyz. Never on the endpoint that hosts reach.
#pragma once

#include "aio/task.hpp"
#include "net/http_server.hpp"
#include "sys/meters.hpp"

#include <functional>
#include <string>

namespace sluice::front {

class admin {
public:
    // `ready` gives "" when ready, else the reason why not.
    admin(const sys::meters& meters, std::function<std::string()> ready)
        : meters_(meters), ready_(std::move(ready)) {}

    aio::task<> serve(net::exchange& http);

private:
    const sys::meters& meters_;
    std::function<std::string()> ready_;
};

} // namespace sluice::front
