// What one configured MCP server needs, and what all of them share. Filled by app/config with every
// default resolved, so a reader of these structs never looks at the file again.
// Used by upstream (to connect), catalog (names), policy (who may use it). Durations are
// milliseconds, sizes bytes; 0 in a "max" means no limit.
#pragma once

#include "base/secret.hpp"
#include "net/http_client.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::upstream {

enum class transport : std::uint8_t { http, sse, stdio };

// How `value` goes up; app/config has checked it and stripped or made what comes before it.
enum class auth_type : std::uint8_t {
    none,
    bearer_token,  // Authorization: Bearer VALUE
    api_key,       // X-API-Key: VALUE
    basic,         // Authorization: Basic VALUE   (VALUE is base64 already)
    authorization, // Authorization: VALUE
    token,         // Authorization: token VALUE
};

struct auth_settings {
    auth_type type = auth_type::none;
    base::secret value; // never empty unless type is none; no control characters
};

// After `failures` failed connects or calls in a row the server is left alone for about `open_for`
// (jittered ± 20 %), then one probe decides.
struct circuit_settings {
    std::size_t failures = 5; // 0 = never open
    std::chrono::milliseconds open_for{15'000};
};

// Local processes. Off unless the file says so; see upstream/stdio_gate.hpp for the one check.
struct stdio_settings {
    bool enabled = false;
    // Bare names, found through PATH, or absolute paths; nothing else runs.
    std::vector<std::string> allowed_commands{"npx", "uvx", "python3", "node", "docker", "deno"};
    // Our variables that a child may see, beside its own `env`. A trailing '*' matches a beginning.
    std::vector<std::string> environment{
        "PATH",
        "HOME",
        "USER",
        "LANG",
        "LC_*",
        "TZ",
        "TMPDIR",
        "XDG_*",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR"
    };
    std::size_t max_processes = 64;                 // over all servers and sessions
    std::chrono::milliseconds shutdown_step{2'000}; // close stdin, wait, TERM, wait, KILL
    std::chrono::milliseconds restart_min{500};     // jittered backoff between restarts
    std::chrono::milliseconds restart_max{30'000};
};

// What is done with a tool's result that is not what its outputSchema says (decision 015).
enum class output_check : std::uint8_t {
    off,     // nothing is looked at
    warn,    // said in the log and counted; the host gets the server's bytes
    enforce, // the host gets an error instead, where the schema can be checked whole
};

struct server_settings {
    std::string name;         // [A-Za-z0-9_.-]{1,32}, unique over names, aliases and groups
    std::string alias;        // empty = none; same rules
    std::string description;  // empty = none
    std::string instructions; // overrides the server's own in the merged text when not empty

    transport kind = transport::http;
    std::string url; // http and sse; checked. Its query may hold a credential: never log it whole.
    // http and sse: system roots, or ca_file; optional client certificate.
    net::tls_settings tls;

    std::string command; // stdio
    std::vector<std::string> args;
    std::map<std::string, base::secret> env;
    bool isolation_per_session = false; // one process per host session instead of one for all

    auth_settings auth;
    // Always sent; win over forwarded ones. Names as written; values may be secret.
    std::vector<std::pair<std::string, base::secret>> static_headers;
    std::vector<std::string> extra_headers; // host's headers to forward, lower case

    // Native tool names. When allowed_tools is not empty it alone decides, else disallowed_tools
    // does.
    std::vector<std::string> allowed_tools;
    std::vector<std::string> disallowed_tools;
    std::map<std::string, std::vector<std::string>> allowed_params; // tool → argument names
    std::map<std::string, std::string> tool_name_to_display_name;
    std::map<std::string, std::string> tool_name_to_description;
    std::vector<std::string> access_groups;
    bool allow_all_keys = false; // every key may use it, also keys that name other servers only

    // Which questions to the person or model at the host this server may ask.
    bool allow_elicitation = false;
    bool allow_sampling = false;
    bool allow_roots = false;
    output_check validate_output = output_check::off;
    bool skip_output_validation = false; // an older word for off; wins

    bool label_elicitation = false; // its name before the text of what it asks the person

    std::chrono::milliseconds timeout{60'000};        // silence on one call; progress resets it
    std::chrono::milliseconds max_timeout{3'600'000}; // the whole call; nothing resets it
    std::chrono::milliseconds connect_timeout{5'000};
    std::chrono::milliseconds initialize_timeout{30'000};
    std::chrono::milliseconds list_timeout{30'000};
    std::chrono::milliseconds cache_ttl{0}; // of pages of its lists; 0 = none are kept
    std::size_t max_concurrent_requests = 0;
    std::size_t max_message_bytes = 16 * 1024 * 1024;

    // What stands before the separator in aggregate names.
    const std::string& prefix() const { return alias.empty() ? name : alias; }
    bool is_called(std::string_view text) const {
        return text == name || (!alias.empty() && text == alias);
    }
};

struct settings {
    std::vector<server_settings> servers; // in the file's order
    circuit_settings circuit;
    stdio_settings stdio;
};

} // namespace sluice::upstream
