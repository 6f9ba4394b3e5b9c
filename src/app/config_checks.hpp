// What the table of keys cannot say: rules over several keys. Each adds its problems and settles
// what follows from other values (lower case, base64, mount path).
#pragma once

#include "app/config_keys.hpp"
#include "app/config_section.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::app {

// mcp_servers as a map or a list; servers go to file.out.upstream.servers, their sections come back
// in the same order. config_servers.cpp.
std::vector<section> read_servers(const section& top, draft& file, problem_list& problems);

// One server by itself: transport, URL, command, credential, headers, tools.
// config_server_checks.cpp.
void check_server(
    const section& at,
    upstream::server_settings& server,
    const upstream::stdio_settings& stdio,
    problem_list& problems
);
void check_credential(const section& at, upstream::server_settings& server, problem_list& problems);
void check_headers(const section& at, upstream::server_settings& server, problem_list& problems);

// Names over all servers: shape, reserved, unique, no prefix inside another. config_names.cpp.
void check_names(
    const std::vector<section>& sections,
    const std::vector<upstream::server_settings>& servers,
    const std::string& separator,
    problem_list& problems
);
// Why `name` cannot name a server, alias or group; empty when it can.
std::string what_is_wrong_with_name(std::string_view name);

// keys: read and checked against the servers. config_access.cpp.
void read_keys(const section& top, draft& file, problem_list& problems);
// auth, keys and listen together.
void check_admission(const section& top, draft& file, problem_list& problems);

// Addresses, public_url, hosts, origins, and the rest of the file's own keys. config_front.cpp.
void check_front(const section& top, draft& file, problem_list& problems);
// "127.0.0.1:80", "[::1]:80", "localhost:80", ":80".
bool is_address(std::string_view text);
// Whether an address stays on this machine.
bool is_loopback_address(std::string_view address);

// salt_keys, or the environment's when they are left out. config_salts.cpp.
void settle_salts(const section& top, draft& file, const environment& env, problem_list& problems);

// store: a word, a URL or a block. config_store.cpp.
void check_store(const section& top, draft& file, problem_list& problems);

// SHA-256 of what decides what hosts see: servers in their order, names, tools, keys' permissions.
// Replicas with the same file agree on it; no secret is part of it. config_digest.cpp.
std::string digest_of(const settings& all);
// SHA-256 of what matters for the connection to a server; who may use it and what its tools are
// called does not. Secrets are part of it: it stays in the process.
std::string connection_of(const upstream::server_settings& server, const upstream::settings& all);
// What a running process cannot change, by the keys of the file, each with a text that is equal
// when nothing has changed. Holds secrets.
std::vector<std::pair<std::string_view, std::string>> fixed_in(const settings& all);

} // namespace sluice::app
