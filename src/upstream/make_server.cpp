#include "upstream/core.hpp"
#include "upstream/http_server.hpp"
#include "upstream/stdio_server.hpp"

#include <stdexcept>

namespace sluice::upstream {

std::unique_ptr<server> make_server(
    surroundings around, server_settings settings, stdio_settings stdio, circuit_settings circuit
) {
    auto kind = settings.kind;
    auto shared = std::make_shared<core>(std::move(around), std::move(settings), circuit);
    if (kind == transport::stdio)
        return std::make_unique<stdio_server>(std::move(shared), std::move(stdio));
    auto origin = net::parse_url(shared->settings.url);
    if (!origin)
        throw std::invalid_argument("an upstream's url was not checked: " + origin.error().message);
    net::client_settings client;
    client.tls = shared->settings.tls;
    client.connect_timeout = shared->settings.connect_timeout;
    auto pool = std::make_shared<net::http_pool>(
        shared->around.loop, shared->around.deadlines, std::move(*origin), client
    );
    return std::make_unique<http_server>(std::move(shared), std::move(pool));
}

} // namespace sluice::upstream
