// The keys of one server and of one key.
#include "app/config_keys.hpp"

#include <array>

namespace sluice::app {

namespace {

using server = upstream::server_settings;
using row = key_row<server>;
using key = policy::key_settings;

constexpr std::array<std::string_view, 3> transport_words{"http", "sse", "stdio"};
constexpr std::array<std::string_view, 6> auth_words{
    "none", "bearer_token", "api_key", "basic", "authorization", "token"
};

constexpr std::array<std::string_view, 3> output_words{"off", "warn", "enforce"};

constexpr std::array<std::string_view, 4> later_auth_words{
    "oauth*", "true_passthrough", "aws_sigv4", "delegate*"
};

constexpr std::array rows{
    row{"server_name",
        [](server& s) -> slot { return text_slot{&s.name, "name"}; },
        "The name, where mcp_servers is a list; in a map the key is the name. 1 to 32 of "
        "A-Z a-z 0-9 _ . -"},
    row{"alias",
        [](server& s) -> slot { return text_slot{&s.alias, "name"}; },
        "Stands for the name before tools and in paths."},
    row{"description", [](server& s) -> slot { return text_slot{&s.description}; }, "For people."},
    row{"instructions",
        [](server& s) -> slot { return text_slot{&s.instructions}; },
        "Given to hosts instead of the server's own instructions."},
    row{"transport",
        [](server& s) -> slot { return choose(s.kind, transport_words); },
        "How the server is reached. Left out: stdio when there is a command, else http, which "
        "falls "
        "back to sse as the protocol says."},
    row{"url",
        [](server& s) -> slot { return text_slot{&s.url, "URL"}; },
        "http and sse: the MCP endpoint. Without user name and password."},
    row{"command",
        [](server& s) -> slot { return text_slot{&s.command, "command"}; },
        "stdio: what is run, one of stdio.allowed_commands. No shell is involved."},
    row{"args",
        [](server& s) -> slot { return list_slot{&s.args, "list of texts"}; },
        "stdio: its arguments."},
    row{"env",
        [](server& s) -> slot { return secret_map_slot{&s.env}; },
        "stdio: its environment, beside the variables of stdio.environment."},
    row{"isolation",
        [](server& s) -> slot { return flag_slot{&s.isolation_per_session, "shared", "session"}; },
        "stdio: one process for all hosts, or one per host session."},
    row{"auth_type",
        [](server& s) -> slot { return choose(s.auth.type, auth_words, later_auth_words); },
        "How auth_value is sent: bearer_token, basic, token and authorization in Authorization "
        "(the "
        "last as it is), api_key in X-API-Key."},
    row{"auth_value",
        [](server& s) -> slot { return secret_slot{&s.auth.value}; },
        "The credential. For basic user:password or its base64."},
    row{"authentication_token",
        [](server& s) -> slot { return secret_slot{&s.auth.value}; },
        "The older name of auth_value."},
    row{"static_headers",
        [](server& s) -> slot { return headers_slot{&s.static_headers}; },
        "Headers that are always sent; they win over forwarded ones."},
    row{"extra_headers",
        [](server& s) -> slot { return list_slot{&s.extra_headers, "list of header names"}; },
        "Headers of the host that are forwarded; several lines of one name go up as one, joined by "
        "\", \"."},
    row{"tls.ca_file",
        [](server& s) -> slot { return text_slot{&s.tls.ca_file, "file"}; },
        "PEM certificates to trust instead of the system's."},
    row{"tls.client_certificate",
        [](server& s) -> slot { return text_slot{&s.tls.certificate_file, "file"}; },
        "PEM certificate chain shown to the server."},
    row{"tls.client_key",
        [](server& s) -> slot { return text_slot{&s.tls.key_file, "file"}; },
        "Its PEM private key."},
    row{"allowed_tools",
        [](server& s) -> slot { return list_slot{&s.allowed_tools, "list of tools"}; },
        "When not empty only these tools exist; the deny list is then not read."},
    row{"disallowed_tools",
        [](server& s) -> slot { return list_slot{&s.disallowed_tools, "list of tools"}; },
        "Tools that do not exist for anybody."},
    row{"allowed_params",
        [](server& s) -> slot {
            return list_map_slot{&s.allowed_params, "map of tool to list of arguments"};
        },
        "The only arguments a tool may be called with; others are refused."},
    row{"tool_name_to_display_name",
        [](server& s) -> slot {
            return text_map_slot{&s.tool_name_to_display_name, "map of tool to name"};
        },
        "Names shown to hosts and accepted from them."},
    row{"tool_name_to_description",
        [](server& s) -> slot {
            return text_map_slot{&s.tool_name_to_description, "map of tool to text"};
        },
        "Descriptions shown to hosts."},
    row{"access_groups",
        [](server& s) -> slot { return list_slot{&s.access_groups, "list of names"}; },
        "Groups the server is in; a group stands for its servers in paths, x-mcp-servers and keys."
    },
    row{"allow_all_keys",
        [](server& s) -> slot { return &s.allow_all_keys; },
        "Whether every key may use it, also keys that name other servers only."},
    row{"allow_elicitation",
        [](server& s) -> slot { return &s.allow_elicitation; },
        "Whether the server may ask the person at the host (elicitation). On stdio it makes "
        "isolation: session."},
    row{"allow_sampling",
        [](server& s) -> slot { return &s.allow_sampling; },
        "Whether the server may ask the host's model (sampling). On stdio it makes isolation: "
        "session."},
    row{"allow_roots",
        [](server& s) -> slot { return &s.allow_roots; },
        "Whether the server may ask for the host's roots. On stdio it makes isolation: session."},
    row{"label_elicitation",
        [](server& s) -> slot { return &s.label_elicitation; },
        "Whether the text of what the server asks the person begins with the server's name in "
        "brackets, as hosts show the gateway's own. Changes bytes; nothing else does."},
    row{"validate_output",
        [](server& s) -> slot { return choose(s.validate_output, output_words); },
        "What is done with a tool's result that does not fit the tool's outputSchema: nothing; a "
        "line in the log; or an error for the host in its place, where the whole schema can be "
        "checked."},
    row{"skip_output_validation",
        [](server& s) -> slot { return &s.skip_output_validation; },
        "true is read as validate_output: off."},
    row{"timeout",
        [](server& s) -> slot { return duration_slot{&s.timeout}; },
        "As timeouts.call, for this server.",
        "timeouts.call"},
    row{"max_timeout",
        [](server& s) -> slot { return duration_slot{&s.max_timeout}; },
        "As timeouts.call_max, for this server.",
        "timeouts.call_max"},
    row{"connect_timeout",
        [](server& s) -> slot { return duration_slot{&s.connect_timeout}; },
        "As timeouts.connect, for this server.",
        "timeouts.connect"},
    row{"initialize_timeout",
        [](server& s) -> slot { return duration_slot{&s.initialize_timeout}; },
        "As timeouts.initialize, for this server.",
        "timeouts.initialize"},
    row{"list_timeout",
        [](server& s) -> slot { return duration_slot{&s.list_timeout}; },
        "As timeouts.list, for this server.",
        "timeouts.list"},
    row{"cache_ttl",
        [](server& s) -> slot { return duration_slot{&s.cache_ttl, std::chrono::milliseconds(0)}; },
        "As catalog.cache_ttl, for this server.",
        "catalog.cache_ttl"},
    row{"max_concurrent_requests",
        [](server& s) -> slot { return count_slot{&s.max_concurrent_requests, 0}; },
        "Requests under way at once; 0 for no limit."},
    row{"max_message",
        [](server& s) -> slot { return size_slot{&s.max_message_bytes, 1024}; },
        "As limits.upstream_message, for this server.",
        "limits.upstream_message"},
};

constexpr std::array later = std::to_array<std::string_view>({
    "server_id",
    "spec_path",
    "protocol_version",
    "upstream_token_header",
    "upstream_resource",
    "client_id",
    "client_secret",
    "scopes",
    "authorization_url",
    "token_url",
    "registration_url",
    "issuer",
    "oauth2_flow",
    "oauth*",
    "token_endpoint_auth_method",
    "token_validation",
    "token_storage_ttl_seconds",
    "delegate_auth_to_upstream",
    "dcr_bridge",
    "token_exchange_endpoint",
    "audience",
    "subject_token_type",
    "token_exchange_profile",
    "id_jag_resource",
    "id_jag_resource_token_endpoint",
    "client_private_key",
    "client_private_key_id",
    "client_assertion_signing_alg",
    "aws_*",
    "pinned_tools",
    "available_on_public_internet",
    "mcp_info",
    "env_vars",
    "is_byok",
    "byok_*",
    "guardrails",
    "rate_limits",
});

constexpr std::array key_rows{
    key_row<key>{
        "name",
        [](key& k) -> slot { return text_slot{&k.name, "name"}; },
        "For logs and metrics; unique."
    },
    key_row<key>{
        "sha256",
        [](key& k) -> slot { return text_slot{&k.sha256, "64 hex digits"}; },
        "The SHA-256 of the key, as sluice hash-key prints it."
    },
    key_row<key>{
        "servers",
        [](key& k) -> slot { return optional_list_slot{&k.servers}; },
        "Servers it may use, by name or alias. Without servers and groups: all. An empty list: "
        "none."
    },
    key_row<key>{
        "groups",
        [](key& k) -> slot { return optional_list_slot{&k.groups}; },
        "Groups of servers it may use, together with servers."
    },
    key_row<key>{
        "tools",
        [](key& k) -> slot { return optional_list_slot{&k.tools}; },
        "The only tools it may use: tool, server/tool or server-tool; what begins with a server's "
        "name or alias means that server's tool alone, and what could mean two tools is refused. "
        "Left out: all of its servers'."
    },
};

constexpr std::array<std::string_view, 6> key_later{
    "expires", "budget*", "rate_limit*", "teams", "toolsets", "object_permission"
};

} // namespace

const key_table<server>& server_keys() {
    static const key_table<server> table{rows, later};
    return table;
}

const key_table<key>& key_keys() {
    static const key_table<key> table{key_rows, key_later};
    return table;
}

} // namespace sluice::app
