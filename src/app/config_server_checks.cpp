#include "app/config_checks.hpp"
#include "net/http.hpp"
#include "upstream/stdio_gate.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <set>

namespace sluice::app {

namespace {

using upstream::server_settings;
using upstream::transport;

constexpr std::array<std::string_view, 8> http_only{
    "url",
    "auth_type",
    "auth_value",
    "authentication_token",
    "static_headers",
    "extra_headers",
    "tls",
    "connect_timeout",
};
constexpr std::array<std::string_view, 4> stdio_only{"command", "args", "env", "isolation"};

bool holds_nul(std::string_view text) {
    return text.find('\0') != std::string_view::npos;
}

bool is_variable(std::string_view name) {
    auto plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_';
    };
    return !name.empty() && !(name.front() >= '0' && name.front() <= '9') &&
           std::all_of(name.begin(), name.end(), plain);
}

bool has_control(std::string_view text) {
    return std::any_of(text.begin(), text.end(), [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    });
}

void check_url(const section& at, const server_settings& server, problem_list& problems) {
    if (!at.has("url"))
        return at.complain(problems, "url", "missing; an http or sse server needs it");
    // The URL itself is not shown: it may hold what should not be seen.
    auto parsed = net::parse_url(server.url);
    if (!parsed) at.complain(problems, "url", parsed.error().message);
}

void check_tls(const section& at, const server_settings& server, problem_list& problems) {
    const std::array<std::pair<std::string_view, const std::string*>, 3> files{{
        {"tls.ca_file", &server.tls.ca_file},
        {"tls.client_certificate", &server.tls.certificate_file},
        {"tls.client_key", &server.tls.key_file},
    }};
    for (const auto& [key, file] : files) {
        if (!file->empty() && !std::ifstream(*file).good()) {
            at.complain(problems, key, "the file cannot be read");
        }
    }
    if (server.tls.certificate_file.empty() != server.tls.key_file.empty()) {
        bool key_missing = server.tls.key_file.empty();
        at.complain(
            problems,
            key_missing ? "tls.client_certificate" : "tls.client_key",
            key_missing ? "needs tls.client_key too" : "needs tls.client_certificate too"
        );
    }
}

void check_command(
    const section& at,
    const server_settings& server,
    const upstream::stdio_settings& stdio,
    problem_list& problems
) {
    if (!at.has("command")) {
        return at.complain(problems, "command", "missing; a stdio server needs it");
    }
    auto allowed = upstream::may_spawn(stdio, server.command);
    if (!allowed) at.complain(problems, "command", allowed.error().message);
    for (std::size_t i = 0; i < server.args.size(); ++i) {
        if (holds_nul(server.args[i])) at.complain_item(problems, "args", i, "holds a NUL");
    }
    for (const auto& [name, value] : server.env) {
        auto key = dotted("env", name);
        if (!is_variable(name)) at.complain(problems, key, "is not the name of a variable");
        if (holds_nul(value.reveal())) at.complain(problems, key, "holds a NUL");
    }
}

void check_display_names(const section& at, const server_settings& server, problem_list& problems) {
    std::set<std::string> seen;
    for (const auto& [tool, shown] : server.tool_name_to_display_name) {
        auto key = dotted("tool_name_to_display_name", tool);
        if (shown.empty() || shown.size() > 128 || has_control(shown)) {
            at.complain(problems, key, "a name is 1 to 128 characters, none of them a control");
        } else if (!seen.insert(shown).second) {
            at.complain(problems, key, "another tool has the same display name");
        }
    }
}

void check_clocks(const section& at, const server_settings& server, problem_list& problems) {
    if (server.max_timeout >= server.timeout) return;
    if (at.has("max_timeout")) {
        at.complain(problems, "max_timeout", "is shorter than the timeout");
    } else if (at.has("timeout")) {
        at.complain(problems, "timeout", "is longer than the max_timeout; raise that too");
    }
}

// A question goes to one host, so a process that may ask belongs to one session.
void settle_isolation(const section& at, server_settings& server, problem_list& problems) {
    if (!server.allow_elicitation && !server.allow_sampling && !server.allow_roots) return;
    if (at.has("isolation") && !server.isolation_per_session) {
        at.complain(problems, "isolation", "a server that may ask hosts needs isolation: session");
    }
    server.isolation_per_session = true;
}

} // namespace

void check_server(
    const section& at,
    server_settings& server,
    const upstream::stdio_settings& stdio,
    problem_list& problems
) {
    bool local = server.kind == transport::stdio;
    auto refuse = [&](std::string_view key, const char* text) {
        if (at.has(key)) at.complain(problems, key, text);
    };
    if (local) {
        for (auto key : http_only)
            refuse(key, "only for http and sse servers; this one is stdio");
        check_command(at, server, stdio, problems);
        settle_isolation(at, server, problems);
    } else {
        for (auto key : stdio_only)
            refuse(key, "only for stdio servers; this one has a url");
        check_url(at, server, problems);
        check_tls(at, server, problems);
        check_credential(at, server, problems);
        check_headers(at, server, problems);
    }
    check_display_names(at, server, problems);
    check_clocks(at, server, problems);
}

} // namespace sluice::app
