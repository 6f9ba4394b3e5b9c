#include "base/text.hpp"
#include "front/front.hpp"

#include <array>

namespace sluice::front {

namespace {

// A header that decides something may come once: who stands before us may have read the other one.
std::optional<std::string_view> doubled(const net::request_head& head) {
    constexpr std::array<std::string_view, 8> deciding = {
        "origin",
        "authorization",
        "mcp-session-id",
        "mcp-protocol-version",
        "x-sluice-api-key",
        "x-litellm-api-key",
        "x-mcp-servers",
        "last-event-id"
    };
    for (auto name : deciding) {
        if (head.headers.count(name) > 1) return name;
    }
    return std::nullopt;
}

bool wants_debug(const net::request_head& head) {
    auto asked = head.headers.get("x-sluice-debug");
    if (!asked) asked = head.headers.get("x-litellm-mcp-debug");
    return asked &&
           (base::iequals(*asked, "true") || *asked == "1" || base::iequals(*asked, "yes"));
}

} // namespace

extra_headers front::cors(const net::request_head& head) const {
    extra_headers out;
    auto origin = head.headers.get("origin");
    if (!origin || !guard_.origin_allowed(*origin)) return out;
    out.emplace_back("Access-Control-Allow-Origin", std::string(*origin));
    out.emplace_back("Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate");
    out.emplace_back("Vary", "Origin");
    return out;
}

// How admission and routing were resolved, in words; names only, never a credential.
void front::explain(visit& v, const net::request_head& head) const {
    std::string by = "nobody is asked";
    if (!keys_.is_open()) {
        bool own = head.headers.get("x-sluice-api-key").has_value();
        bool alias = head.headers.get("x-litellm-api-key").has_value();
        by = "key '" + v.who->name + "' from " +
             (own     ? "x-sluice-api-key"
              : alias ? "x-litellm-api-key"
                      : "Authorization");
    }
    std::vector<std::string> servers;
    servers.reserve(v.where.servers.size());
    for (auto server : v.where.servers)
        servers.push_back(through_.in().names.server(server).name);
    v.headers.emplace_back("X-Sluice-Debug-Auth", by);
    v.headers.emplace_back(
        "X-Sluice-Debug-Endpoint", v.where.path + (v.where.single ? " (single)" : " (aggregate)")
    );
    v.headers.emplace_back("X-Sluice-Debug-Servers", base::join(servers, ","));
}

base::result<void> front::identify(const net::request_head& head, visit& v) const {
    auto key = policy::presented_key(
        head.headers.get("x-sluice-api-key"),
        head.headers.get("x-litellm-api-key"),
        head.headers.get("authorization")
    );
    v.who = keys_.find(key);
    if (v.who) return {};
    v.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"sluice\"");
    return base::fault(
        base::errc::unauthorized,
        "a valid key is needed: send x-sluice-api-key, or Authorization: Bearer",
        401
    );
}

base::result<void>
front::find_scope(const net::request_head& head, std::string_view names, visit& v) const {
    auto where = through_.scope_for(*v.who, names);
    auto narrowing = head.headers.get("x-mcp-servers");
    if (where && narrowing && names.empty()) where = through_.narrow(std::move(*where), *narrowing);
    if (!where) return where.error();
    v.where = std::move(*where);
    return {};
}

base::result<void> front::admit(const net::request_head& head, visit& v) const {
    v.headers = cors(head);
    auto found = find_route(head.path(), settings_.mount_path);
    if (!found) {
        return base::fault(
            base::errc::not_found, "no such endpoint; MCP is served at /mcp and /mcp/{server}", 404
        );
    }
    v.at = found->at;
    if (auto twice = doubled(head)) {
        return base::fault(
            base::errc::invalid_request,
            "the header " + std::string(*twice) + " came more than once",
            400
        );
    }
    auto ours = guard_.check(head);
    if (!ours) return ours;
    auto known = identify(head, v);
    if (!known) return known;
    auto reached = find_scope(head, found->names, v);
    if (!reached) return reached;
    if (settings_.debug_header && wants_debug(head)) explain(v, head);
    if (forwards_headers_) v.upward = std::make_shared<const net::fields>(head.headers);
    return {};
}

} // namespace sluice::front
