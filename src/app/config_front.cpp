#include "app/config_checks.hpp"
#include "net/http.hpp"
#include "upstream/stdio_gate.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <optional>

namespace sluice::app {

namespace {

struct address {
    std::string host; // without brackets; empty = every interface
    bool bracketed = false;
};

bool is_ip(const std::string& text, bool version6) {
    in6_addr room{};
    return ::inet_pton(version6 ? AF_INET6 : AF_INET, text.c_str(), &room) == 1;
}

std::optional<address> parse_address(std::string_view text) {
    auto colon = text.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    auto port = base::parse_unsigned(text.substr(colon + 1));
    if (!port || *port > 65535) return std::nullopt;
    auto host = text.substr(0, colon);
    address out;
    if (host.starts_with('[') && host.ends_with(']')) {
        out.bracketed = true;
        host = host.substr(1, host.size() - 2);
    }
    out.host = base::lower(host);
    bool named = out.host.empty() || out.host == "localhost";
    if (named ? out.bracketed : !is_ip(out.host, out.bracketed)) return std::nullopt;
    return out;
}

// The listener takes addresses only.
void settle_localhost(std::string& listen) {
    constexpr std::string_view name = "localhost:";
    if (base::iequals(std::string_view(listen).substr(0, name.size()), name)) {
        listen = "127.0.0.1:" + listen.substr(name.size());
    }
}

bool is_host(std::string_view text) {
    auto parsed = net::parse_url("http://" + std::string(text));
    return parsed && parsed->target == "/" && !text.ends_with('/') && !text.ends_with(':');
}

void check_public_url(const section& top, front::settings& front, problem_list& problems) {
    if (front.public_url.empty()) return;
    auto parsed = net::parse_url(front.public_url);
    if (!parsed) return top.complain(problems, "public_url", parsed.error().message);
    auto path = parsed->target;
    if (path.find('?') != std::string::npos) {
        return top.complain(problems, "public_url", "must not have a query");
    }
    while (path.ends_with('/'))
        path.pop_back();
    // What a person copies from a host's settings is the endpoint itself.
    constexpr std::string_view endpoint = "/mcp";
    if (path.ends_with(endpoint)) path.resize(path.size() - endpoint.size());
    front.mount_path = path;
}

void check_lists(const section& top, front::settings& front, problem_list& problems) {
    for (std::size_t i = 0; i < front.allowed_hosts.size(); ++i) {
        auto& host = front.allowed_hosts[i];
        host = base::lower(host);
        if (is_host(host)) continue;
        top.complain_item(
            problems, "allowed_hosts", i, "must be a host name or address, or host:port"
        );
    }
    for (std::size_t i = 0; i < front.allowed_origins.size(); ++i) {
        auto& origin = front.allowed_origins[i];
        origin = base::lower(origin);
        if (origin == "*") continue;
        auto parsed = net::parse_url(origin);
        if (parsed && parsed->target == "/" && !origin.ends_with('/')) continue;
        top.complain_item(
            problems,
            "allowed_origins",
            i,
            "must be scheme and host such as https://app.example.com, or *"
        );
    }
}

bool is_everywhere(const std::string& host) {
    return host.empty() || host == "0.0.0.0" || host == "::";
}

void check_peer(const section& top, draft& file, problem_list& problems) {
    auto& listen = file.out.front.peer_listen;
    const auto& address = file.out.gateway.peer.address;
    if (top.has("peer_address")) {
        auto parsed = net::parse_url("http://" + address);
        bool plain = is_host(address) && address.rfind(':') != std::string::npos;
        if (!plain || !parsed) return top.complain(problems, "peer_address", "must be host:port");
    }
    if (listen.empty()) {
        if (top.has("peer_address"))
            top.complain(problems, "peer_address", "is of no use without peer_listen");
        return;
    }
    auto parsed = parse_address(listen);
    if (!parsed)
        return top.complain(problems, "peer_listen", "must be address:port, [v6]:port or :port");
    settle_localhost(listen);
    if (address.empty() && is_everywhere(parsed->host)) {
        top.complain(
            problems,
            "peer_listen",
            "is every interface, so peer_address must say where other replicas reach it"
        );
    }
}

void check_separator(const section& top, const std::string& separator, problem_list& problems) {
    auto fine = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '.' || c == '-';
    };
    if (!separator.empty() && separator.size() <= 4 &&
        std::all_of(separator.begin(), separator.end(), fine)) {
        return;
    }
    top.complain(problems, "separator", "must be 1 to 4 of A-Z a-z 0-9 _ . -");
}

void check_stdio(
    const section& top, const upstream::stdio_settings& stdio, problem_list& problems
) {
    for (std::size_t i = 0; i < stdio.allowed_commands.size(); ++i) {
        if (upstream::is_command_name(stdio.allowed_commands[i])) continue;
        top.complain_item(
            problems, "stdio.allowed_commands", i, "must be a bare name or a plain absolute path"
        );
    }
    if (stdio.restart_max < stdio.restart_min) {
        top.complain(problems, "stdio.restart_max", "is shorter than stdio.restart_min");
    }
}

} // namespace

bool is_address(std::string_view text) {
    return parse_address(text).has_value();
}

bool is_loopback_address(std::string_view text) {
    auto parsed = parse_address(text);
    if (!parsed) return false;
    if (parsed->host == "localhost") return !parsed->bracketed;
    if (parsed->bracketed) return parsed->host == "::1";
    return parsed->host.starts_with("127.");
}

void check_front(const section& top, draft& file, problem_list& problems) {
    file.out.session.stream_after = file.out.front.sse_after;
    auto& front = file.out.front;
    if (front.admin_listen == "off") front.admin_listen.clear();
    if (!is_address(front.listen)) {
        top.complain(problems, "listen", "must be address:port, [v6]:port or :port");
    }
    if (!front.admin_listen.empty() && !is_address(front.admin_listen)) {
        top.complain(problems, "admin_listen", "must be address:port, [v6]:port, :port or off");
    }
    settle_localhost(front.listen);
    settle_localhost(front.admin_listen);
    check_public_url(top, front, problems);
    check_lists(top, front, problems);
    check_peer(top, file, problems);
    check_separator(top, file.out.catalog.separator, problems);
    check_stdio(top, file.out.upstream.stdio, problems);
    const auto& defaults = file.server_defaults;
    if (defaults.max_timeout < defaults.timeout) {
        auto key = top.has("timeouts.call_max") ? "timeouts.call_max" : "timeouts.call";
        top.complain(problems, key, "timeouts.call_max is shorter than timeouts.call");
    }
}

} // namespace sluice::app
