#include "gateway/peers.hpp"

#include "base/text.hpp"
#include "gateway/links.hpp"
#include "gateway/operation.hpp"
#include "mcp/client_capabilities.hpp"
#include "sys/digest.hpp"

namespace sluice::gateway {

namespace {

// Lengths keep neighbours apart: no two lists of texts have one spelling.
void append(std::string& to, std::string_view text) {
    to += std::to_string(text.size()) + ":";
    to += text;
}

} // namespace

upstream::open_request opening_for(
    const upstream::server_settings& server,
    const session::identity& host,
    const net::fields* headers
) {
    upstream::open_request request;
    request.revision = std::string(mcp::text_of(host.revision));
    request.capabilities = mcp::declared_upstream(
        host.capabilities, {server.allow_elicitation, server.allow_sampling, server.allow_roots}
    );
    request.headers = headers_for(server, headers);
    return request;
}

catalog::viewpoint viewpoint_of(
    const upstream::server_settings& settings,
    std::size_t server,
    const upstream::open_request& request
) {
    bool plain = request.headers.empty() && request.capabilities == "{}";
    if (plain || is_shared(settings)) return {server};
    std::string text;
    for (const auto& [name, value] : request.headers) {
        append(text, name);
        append(text, value);
    }
    append(text, request.capabilities);
    return {server, sys::sha256(text)};
}

catalog::viewpoint viewpoint_of(const house& in, const operation& op, std::size_t server) {
    const auto& settings = in.names.server(server);
    auto request = opening_for(settings, op.host->who(), op.headers.get());
    return viewpoint_of(settings, in.servers[server]->number, request);
}

const upstream::peer_info* peer_of(house& in, const operation& op, std::size_t server) {
    return in.known.find(viewpoint_of(in, op, server));
}

} // namespace sluice::gateway
