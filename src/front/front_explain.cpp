// What `x-sluice-debug: true` is answered with: how the key was looked for, what the path means,
// which of the servers the key may see are meant, and where a request went. Names only, never a
// credential.
#include "base/text.hpp"
#include "front/front.hpp"

#include <array>

namespace sluice::front {

namespace {

constexpr std::array<std::string_view, 3> key_headers = {
    "x-sluice-api-key", "x-litellm-api-key", "Authorization"
};

// What hosts and upstreams named may hold any character; a header may not.
std::string header_text(std::string_view text) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string out;
    for (unsigned char c : text) {
        if (c > 0x20 && c < 0x7f && c != '%') {
            out += static_cast<char>(c);
        } else {
            out.append({'%', digits[c >> 4U], digits[c & 15U]});
        }
    }
    return out;
}

} // namespace

std::string front::explain_key(const visit& v, const net::request_head& head) const {
    if (!v.looked_for_key) return "not looked for";
    if (keys_.is_open()) return "nobody is asked";
    std::string_view from;
    for (auto name : key_headers) {
        if (from.empty() && head.headers.get(base::lower(name))) from = name;
    }
    if (from.empty())
        return "no key in x-sluice-api-key, x-litellm-api-key or Authorization: Bearer";
    if (v.who) return "key '" + v.who->name + "' from " + std::string(from);
    return "no key of ours in " + std::string(from) + ", the first of its kind that came";
}

void front::explain(visit& v, const net::request_head& head) const {
    v.headers.emplace_back("X-Sluice-Debug-Auth", explain_key(v, head));
    bool found = !v.where.path.empty();
    std::string endpoint = header_text(found ? v.where.path : base::clip(head.path()));
    endpoint += !found ? " (none)" : v.where.single ? " (single)" : " (aggregate)";
    v.headers.emplace_back("X-Sluice-Debug-Endpoint", std::move(endpoint));
    if (!v.who) return;
    // Where the path leads nowhere: what it could have led to.
    auto reached = v.where.servers;
    if (!found) reached = through_.scope_for(*v.who, {})->servers;
    std::vector<std::string> names;
    names.reserve(reached.size());
    for (auto server : reached)
        names.push_back(through_.in().names.server(server).name);
    v.headers.emplace_back("X-Sluice-Debug-Servers", base::join(names, ","));
}

void explain_route(const gateway::operation& op, extra_headers& headers) {
    if (!op.granted) return; // what the key may not see, and what does not exist
    headers.emplace_back("X-Sluice-Debug-Server", header_text(op.server));
    if (!op.tool.empty()) headers.emplace_back("X-Sluice-Debug-Tool", header_text(op.tool));
}

} // namespace sluice::front
