#include "upstream/request_headers.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace sluice::upstream {

namespace {

constexpr std::array<std::string_view, 17> of_the_hop{
    "host",
    "connection",
    "content-length",
    "content-type",
    "content-encoding",
    "transfer-encoding",
    "te",
    "trailer",
    "upgrade",
    "keep-alive",
    "expect",
    "accept",
    "accept-encoding",
    "mcp-session-id",
    "mcp-protocol-version",
    "last-event-id",
    "proxy-connection",
};
constexpr std::array<std::string_view, 5> credentials{
    "authorization", "proxy-authorization", "cookie", "x-sluice-api-key", "x-litellm-api-key"
};

bool contains(std::span<const std::string_view> list, std::string_view name) {
    return std::ranges::any_of(list, [&](auto one) { return base::iequals(one, name); });
}

bool is_plain(std::string_view value) {
    return std::ranges::none_of(value, [](char c) {
        auto u = static_cast<unsigned char>(c);
        return (u < 0x20 && u != '\t') || u == 0x7f;
    });
}

} // namespace

net::fields own_headers(const server_settings& settings) {
    net::fields out;
    std::string value(settings.auth.value.reveal());
    switch (settings.auth.type) {
    case auth_type::none:
        break;
    case auth_type::bearer_token:
        out.set("Authorization", "Bearer " + value);
        break;
    case auth_type::api_key:
        out.set("X-API-Key", value);
        break;
    case auth_type::basic:
        out.set("Authorization", "Basic " + value);
        break;
    case auth_type::authorization:
        out.set("Authorization", value);
        break;
    case auth_type::token:
        out.set("Authorization", "token " + value);
        break;
    }
    for (const auto& [name, secret] : settings.static_headers)
        out.set(name, std::string(secret.reveal()));
    out.set("Accept-Encoding", "identity");
    return out;
}

void add_forwarded(net::fields& to, const header_list& forwarded, const server_settings& settings) {
    for (const auto& [name, value] : forwarded) {
        if (contains(of_the_hop, name) || to.get(name) || !is_plain(value)) continue;
        auto is_it = [&name = name](const std::string& one) { return base::iequals(one, name); };
        bool named = std::ranges::any_of(settings.extra_headers, is_it);
        if (contains(credentials, name) && !named) continue;
        to.add(name, value);
    }
}

} // namespace sluice::upstream
