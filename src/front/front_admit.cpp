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

base::result<void> front::identify(const net::request_head& head, visit& v) const {
    v.looked_for_key = true;
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
    v.debug = settings_.debug_header && wants_debug(head);
    auto found = find_route(head.path(), settings_.mount_path);
    if (!found) {
        auto at = settings_.mount_path + "/mcp";
        return base::fault(
            base::errc::not_found,
            "no such endpoint; MCP is served at " + at + " and " + at + "/{server}",
            404
        );
    }
    v.at = found->at;
    if (auto twice = doubled(head)) {
        return base::fault(
            base::errc::invalid_request,
            "the header " + std::string(*twice) + " came more than once; send it once",
            400
        );
    }
    if (!v.forwarded) {
        auto ours = guard_.check(head);
        if (!ours) return ours;
        auto known = identify(head, v);
        if (!known) return known;
    }
    auto reached = find_scope(head, found->names, v);
    if (!reached) return reached;
    if (forwards_headers_) v.upward = std::make_shared<const net::fields>(head.headers);
    return {};
}

} // namespace sluice::front
