// The admin listener: /metrics, /healthz, /readyz, and the sessions. Never on the endpoint that
// hosts reach.
#pragma once

#include "aio/task.hpp"
#include "net/http_server.hpp"
#include "session/overseer.hpp"
#include "sys/meters.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace sluice::front {

class admin {
public:
    // `ready` gives "" when ready, else the reason why not.
    admin(const sys::meters& meters, std::function<std::string()> ready, session::overseer sessions)
        : meters_(meters), ready_(std::move(ready)), sessions_(std::move(sessions)) {}

    aio::task<> serve(net::exchange& http);

private:
    net::response look(std::string_view path) const;
    aio::task<net::response> list_sessions();
    aio::task<net::response> end_sessions(std::string digest, std::string query);

    const sys::meters& meters_;
    std::function<std::string()> ready_;
    session::overseer sessions_;
};

} // namespace sluice::front
