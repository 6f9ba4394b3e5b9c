// The admin listener: /metrics, /healthz, /readyz, and the sessions. Never on the endpoint that
// hosts reach.
#pragma once

#include "aio/task.hpp"
#include "base/result.hpp"
#include "front/doorman.hpp"
#include "net/http_server.hpp"
#include "session/overseer.hpp"
#include "sys/meters.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace sluice::front {

class admin {
public:
    // Whether a request may see or end sessions; what all may see is not asked about.
    using gate = std::function<base::result<void>(const net::request_head&)>;

    // `ready` gives "" when ready, else the reason why not.
    admin(
        const sys::meters& meters,
        std::function<std::string()> ready,
        session::overseer sessions,
        gate may_administer,
        doorman& door
    )
        : meters_(meters), ready_(std::move(ready)), sessions_(std::move(sessions)),
          may_administer_(std::move(may_administer)), door_(door) {}

    aio::task<> serve(net::exchange& http);

private:
    net::response look(std::string_view path) const;
    aio::task<net::response> serve_sessions(const net::request_head& head);
    aio::task<net::response> list_sessions();
    net::response turn_away(const net::request_head& head, const base::fault& why);
    aio::task<net::response> end_sessions(std::string digest, std::string query);

    const sys::meters& meters_;
    std::function<std::string()> ready_;
    session::overseer sessions_;
    gate may_administer_;
    doorman& door_;
};

} // namespace sluice::front
