// The keys of the file itself; those of servers and keys are in config_server_keys.cpp.
#include "app/config_keys.hpp"

#include <array>
#include <type_traits>

namespace sluice::app {

namespace {

template <class Enum>
choice_slot choose(Enum& to, std::span<const std::string_view> words) {
    static_assert(std::is_same_v<std::underlying_type_t<Enum>, std::uint8_t>);
    return {reinterpret_cast<std::uint8_t*>(&to), words};
}

constexpr std::array<std::string_view, 2> auth_words{"keys", "none"};
constexpr std::array<std::string_view, 2> sessionless_words{"serve", "refuse"};
constexpr std::array<std::string_view, 5> level_words{"debug", "info", "warn", "error", "off"};
constexpr std::array<std::string_view, 2> format_words{"json", "text"};

using row = key_row<draft>;

constexpr std::array rows{
    // Where hosts reach us
    row{"listen",
        [](draft& d) -> slot { return text_slot{&d.out.front.listen, "address"}; },
        "Where hosts connect: an IP address or localhost and a port, [v6]:port, or :port for every "
        "interface. Port 0 takes any "
        "free "
        "one."},
    row{"admin_listen",
        [](draft& d) -> slot { return text_slot{&d.out.front.admin_listen, "address or off"}; },
        "Where /metrics, /healthz, /readyz and /sessions are served; off for nowhere. /sessions "
        "only where Host is an IP address, localhost, or of allowed_hosts or public_url, and to no "
        "page of another origin."},
    row{"public_url",
        [](draft& d) -> slot { return text_slot{&d.out.front.public_url, "URL"}; },
        "How hosts see the gateway. Its host is allowed in Host and Origin; its path, when it has "
        "one, "
        "is the path below which everything is served; a last part /mcp is the endpoint itself."},
    row{"allowed_hosts",
        [](draft& d) -> slot { return list_slot{&d.out.front.allowed_hosts, "list of hosts"}; },
        "Values of Host that are served beside loopback names and public_url: a name (any port) or "
        "name:port."},
    row{"allowed_origins",
        [](draft& d) -> slot { return list_slot{&d.out.front.allowed_origins, "list of origins"}; },
        "Values of Origin that are served beside public_url's, such as https://app.example.com; * "
        "for all."},
    row{"auth",
        [](draft& d) -> slot { return choose(d.auth, auth_words); },
        "none serves everybody and must be written out when nobody has a key and the gateway "
        "listens "
        "beyond loopback."},
    row{"keys",
        [](draft&) -> slot { return block_slot{"list of keys"}; },
        "Who may come in; see below."},
    row{"sessionless",
        [](draft& d) -> slot { return choose(d.out.session.without_id, sessionless_words); },
        "Requests without a session id: serve them on a session that is thrown away, or refuse "
        "them "
        "with 400."},
    row{"debug_header",
        [](draft& d) -> slot { return &d.out.front.debug_header; },
        "Whether x-sluice-debug: true is answered with how the request was resolved."},

    row{"salt_keys",
        [](draft& d) -> slot { return secret_list_slot{&d.out.gateway.salt_keys}; },
        "Seal what hosts are given to come back with, such as cursors; the first seals, every one "
        "opens. Left out: SLUICE_SALT_KEY, else LITELLM_SALT_KEY, of the environment. Without any, "
        "lists of several pages cannot be served."},

    // Replicas
    row{"peer_listen",
        [](draft& d) -> slot { return text_slot{&d.out.front.peer_listen, "address"}; },
        "Where other replicas bring requests that this one must serve; needed when the store is "
        "shared. Signed with a key made from the salts; not for hosts."},
    row{"peer_address",
        [](draft& d) -> slot { return text_slot{&d.out.gateway.peer.address, "host:port"}; },
        "Where other replicas reach peer_listen, such as ${POD_IP}:9191. Left out: peer_listen "
        "itself, when it names an address."},
    row{"lease",
        [](draft& d) -> slot {
            return duration_slot{&d.out.gateway.peer.lease, std::chrono::milliseconds(300)};
        },
        "A replica that was not heard of for so long is dead, and others take over what it held."},

    // The catalogue
    row{"separator",
        [](draft& d) -> slot { return text_slot{&d.out.catalog.separator}; },
        "Stands between a server's name and a tool's in lists of several servers; 1 to 4 of "
        "A-Z a-z 0-9 _ . -"},
    row{"merge_instructions",
        [](draft& d) -> slot { return &d.out.catalog.merge_instructions; },
        "Whether the servers' instructions are given to hosts, each under a heading."},

    row{"catalog.max_pages",
        [](draft& d) -> slot { return small_count_slot{&d.out.catalog.max_pages}; },
        "Pages of one listing, or read to look up a shortened name; a longer one ends with an "
        "error."},
    row{"catalog.cache_ttl",
        [](draft& d) -> slot {
            return duration_slot{&d.server_defaults.cache_ttl, std::chrono::milliseconds(0)};
        },
        "How long a page of a server's list is kept and served again, to callers whom the server "
        "cannot tell apart, unless it says that its lists changed; 0 for never."},
    row{"catalog.cursor_lifetime",
        [](draft& d) -> slot { return duration_slot{&d.out.gateway.cursor_lifetime}; },
        "How long a listing may be continued, from its first page."},

    // The store
    row{"store",
        [](draft& d) -> slot { return secret_slot{&d.store_url}; },
        "Where facts are kept that outlive a request: memory (of this process: right for one "
        "replica only), redis://user:password@host:port/db, rediss://… for TLS; or a block with "
        "the keys below.",
        "memory"},
    row{"store.url",
        [](draft& d) -> slot { return secret_slot{&d.store_url}; },
        "The same within a block. With sentinels its host may be left out: redis://:password@/0."},
    row{"store.ca_file",
        [](draft& d) -> slot { return text_slot{&d.out.store.redis.certificates.ca_file, "file"}; },
        "PEM roots that the store's certificate is checked against; left out: the system's."},
    row{"store.cert_file",
        [](draft& d) -> slot {
            return text_slot{&d.out.store.redis.certificates.certificate_file, "file"};
        },
        "PEM certificate we show to the store."},
    row{"store.key_file",
        [](draft& d) -> slot {
            return text_slot{&d.out.store.redis.certificates.key_file, "file"};
        },
        "Its PEM key; left out: in store.cert_file."},
    row{"store.key_prefix",
        [](draft& d) -> slot { return text_slot{&d.out.store.redis.key_prefix}; },
        "Stands before every key and channel; replicas that belong together have the same."},
    row{"store.timeout",
        [](draft& d) -> slot { return duration_slot{&d.out.store.redis.timeout}; },
        "For one command, and for one attempt to connect."},
    row{"store.unready_after",
        [](draft& d) -> slot { return duration_slot{&d.out.store.unready_after}; },
        "/readyz says no once the store has been away for so long."},
    row{"store.sentinels",
        [](draft& d) -> slot { return list_slot{&d.sentinels, "list of addresses"}; },
        "Redis Sentinels to ask for the master; port 26379 when left out."},
    row{"store.master",
        [](draft& d) -> slot { return text_slot{&d.out.store.redis.master}; },
        "The name they know it by."},
    row{"store.sentinel_user",
        [](draft& d) -> slot { return text_slot{&d.out.store.redis.sentinel_user}; },
        "The user at the sentinels, when they ask for more than a password."},
    row{"store.sentinel_password",
        [](draft& d) -> slot { return secret_slot{&d.out.store.redis.sentinel_password}; },
        "The password at the sentinels, when they ask for one."},
    row{"store.cluster",
        [](draft& d) -> slot { return &d.out.store.redis.cluster; },
        "Whether the URL names one node of a Redis Cluster; the others are learnt from it."},

    // Servers
    row{"mcp_servers",
        [](draft&) -> slot { return block_slot{"map or list of servers"}; },
        "The MCP servers behind this endpoint; see below."},
    row{"stdio.enabled",
        [](draft& d) -> slot { return &d.out.upstream.stdio.enabled; },
        "Whether servers may be local processes."},
    row{"stdio.allowed_commands",
        [](draft& d) -> slot {
            return list_slot{&d.out.upstream.stdio.allowed_commands, "list of commands"};
        },
        "The only commands that are run: bare names, found through PATH, or absolute paths."},
    row{"stdio.environment",
        [](draft& d) -> slot {
            return list_slot{&d.out.upstream.stdio.environment, "list of variables"};
        },
        "The gateway's own environment variables that processes may see; a trailing * matches a "
        "beginning."},
    row{"stdio.max_processes",
        [](draft& d) -> slot { return count_slot{&d.out.upstream.stdio.max_processes}; },
        "Processes at once, over all servers and sessions."},
    row{"stdio.shutdown_step",
        [](draft& d) -> slot { return duration_slot{&d.out.upstream.stdio.shutdown_step}; },
        "How long a process gets after its input is closed before TERM, and after TERM before KILL."
    },
    row{"stdio.restart_min",
        [](draft& d) -> slot { return duration_slot{&d.out.upstream.stdio.restart_min}; },
        "The first wait before a process that died is started again."},
    row{"stdio.restart_max",
        [](draft& d) -> slot { return duration_slot{&d.out.upstream.stdio.restart_max}; },
        "The longest such wait; waits double and are jittered."},
    row{"circuit.failures",
        [](draft& d) -> slot { return count_slot{&d.out.upstream.circuit.failures, 0}; },
        "Failures in a row after which a server is left alone for a while; 0 for never."},
    row{"circuit.open_for",
        [](draft& d) -> slot { return duration_slot{&d.out.upstream.circuit.open_for}; },
        "About how long it is left alone before one probe decides."},

    // Timeouts
    row{"timeouts.connect",
        [](draft& d) -> slot { return duration_slot{&d.server_defaults.connect_timeout}; },
        "To connect to a server."},
    row{"timeouts.initialize",
        [](draft& d) -> slot { return duration_slot{&d.server_defaults.initialize_timeout}; },
        "For a server to answer initialize, the start of its process included."},
    row{"timeouts.list",
        [](draft& d) -> slot { return duration_slot{&d.server_defaults.list_timeout}; },
        "For a server to answer one page of a list."},
    row{"timeouts.call",
        [](draft& d) -> slot { return duration_slot{&d.server_defaults.timeout}; },
        "Silence of a server during a call; its progress notifications start it anew."},
    row{"timeouts.call_max",
        [](draft& d) -> slot { return duration_slot{&d.server_defaults.max_timeout}; },
        "A whole call, whatever is heard of it."},
    row{"timeouts.initialize_wait",
        [](draft& d) -> slot { return duration_slot{&d.out.catalog.initialize_wait}; },
        "How long a host's initialize waits for servers that are not known yet."},
    row{"timeouts.stream_after",
        [](draft& d) -> slot { return duration_slot{&d.out.front.sse_after}; },
        "A call that is not answered by then is answered with a stream."},
    row{"timeouts.keepalive",
        [](draft& d) -> slot { return duration_slot{&d.out.front.keepalive}; },
        "A comment is sent on a stream that has been silent for so long."},
    row{"timeouts.retry",
        [](draft& d) -> slot { return duration_slot{&d.out.front.retry}; },
        "When hosts are told to come back to a broken stream."},
    row{"timeouts.session_idle",
        [](draft& d) -> slot { return duration_slot{&d.out.session.idle_ttl}; },
        "A session without request, call or stream ends after it."},
    row{"timeouts.session_max_age",
        [](draft& d) -> slot {
            return duration_slot{&d.out.session.max_age, std::chrono::milliseconds(0)};
        },
        "A session ends so long after its initialize, also when it is in use; 0 for never."},
    row{"timeouts.resume",
        [](draft& d) -> slot { return duration_slot{&d.out.session.resume_window}; },
        "How long a stream's events are kept for a host that comes back."},
    row{"timeouts.ask_resume_grace",
        [](draft& d) -> slot { return duration_slot{&d.out.session.ask_resume_grace}; },
        "How long a question waits for a host that reads no stream of its call."},
    row{"timeouts.header",
        [](draft& d) -> slot { return duration_slot{&d.out.front.limits.header_timeout}; },
        "For a host to send the head of a request (408)."},
    row{"timeouts.body",
        [](draft& d) -> slot { return duration_slot{&d.out.front.limits.body_timeout}; },
        "For a host to send the body of a request (408)."},
    row{"timeouts.idle",
        [](draft& d) -> slot { return duration_slot{&d.out.front.limits.idle_timeout}; },
        "Between two requests on a host's connection."},
    row{"timeouts.write",
        [](draft& d) -> slot { return duration_slot{&d.out.front.limits.write_timeout}; },
        "For a host to take what is written to it before it counts as gone."},
    row{"timeouts.drain",
        [](draft& d) -> slot { return duration_slot{&d.out.gateway.drain_timeout}; },
        "How long calls may go on after SIGTERM."},

    // Limits
    row{"limits.body",
        [](draft& d) -> slot { return size_slot{&d.out.front.limits.max_body_bytes, 1024}; },
        "A host's message (413)."},
    row{"limits.headers",
        [](draft& d) -> slot { return size_slot{&d.out.front.limits.max_header_bytes, 1024}; },
        "The head of a host's request (431)."},
    row{"limits.connections",
        [](draft& d) -> slot { return count_slot{&d.out.front.limits.max_connections}; },
        "Hosts' connections at once."},
    row{"limits.sessions",
        [](draft& d) -> slot { return count_slot{&d.out.session.max_sessions}; },
        "Sessions at once in one process. With a shared store the one that has been idle for "
        "longest is only let go of here, to be taken up again when it is used; when all are in "
        "use, 503 with `Retry-After`."},
    row{"limits.sessions_per_key",
        [](draft& d) -> slot { return count_slot{&d.out.session.sessions_per_key}; },
        "Sessions at once of one key, over all replicas; without keys everybody counts as one. At "
        "the "
        "limit the one that nobody used for longest makes room, if that is a minute."},
    row{"limits.calls_per_session",
        [](draft& d) -> slot { return count_slot{&d.out.session.calls_per_session}; },
        "Requests under way at once in one session, `ping` apart (429)."},
    row{"limits.streams_per_session",
        [](draft& d) -> slot { return count_slot{&d.out.session.streams_per_session}; },
        "GET streams at once of one session."},
    row{"limits.events_per_stream",
        [](draft& d) -> slot { return count_slot{&d.out.session.events_per_stream}; },
        "Events of one stream kept for resume."},
    row{"limits.bytes_per_stream",
        [](draft& d) -> slot { return size_slot{&d.out.session.bytes_per_stream}; },
        "Bytes of one stream's events kept for resume."},
    row{"limits.resume_result",
        [](draft& d) -> slot { return size_slot{&d.out.session.resume_result_max}; },
        "A result larger than this is delivered but not kept for resume."},
    row{"limits.upstream_message",
        [](draft& d) -> slot { return size_slot{&d.server_defaults.max_message_bytes, 1024}; },
        "One message of a server."},
    row{"limits.inflight_bytes",
        [](draft& d) -> slot { return size_slot{&d.out.gateway.inflight_bytes, 1024 * 1024}; },
        "All messages held at once by the process: requests, answers being read, streams. One more "
        "is "
        "refused with 503, or with an error that names this setting."},
    row{"limits.name_length",
        [](draft& d) -> slot { return count_slot{&d.out.catalog.max_name, 64, 1024}; },
        "Characters of a tool's name in lists of several servers; longer ones are shortened with a "
        "hash."},
    row{"limits.instructions",
        [](draft& d) -> slot { return size_slot{&d.out.catalog.instructions_cap}; },
        "The merged instructions."},
    row{"limits.metric_tool_names",
        [](draft& d) -> slot { return count_slot{&d.out.gateway.metric_tool_names, 0}; },
        "Tool names that appear in metrics before the rest become other; 0 for none."},

    // The log
    row{"log.level",
        [](draft& d) -> slot { return choose(d.out.log.level, level_words); },
        "What is logged: this and worse."},
    row{"log.format",
        [](draft& d) -> slot { return choose(d.out.log.format, format_words); },
        "One JSON object or one line of text per event, on standard error."},
};

constexpr std::array later = std::to_array<std::string_view>({
    "replica*",
    "litellm_settings",
    "general_settings",
    "guardrails",
    "toolsets",
    "mcp_aliases",
    "mcp_allowed_clients",
    "mcp_tool_search",
    "mcp_semantic_*",
    "public_mcp_servers",
    "oauth*",
    "jwt*",
    "tls",
    "rate_limits",
    "budgets",
    "tracing",
    "otel",
    "audit*",
    "database*",
    "teams",
    "users",
    "environment_variables",
    "include",
});

} // namespace

const key_table<draft>& file_keys() {
    static const key_table<draft> table{rows, later};
    return table;
}

bool is_later(std::span<const std::string_view> later, std::string_view key) {
    for (auto each : later) {
        if (each == key) return true;
        if (each.ends_with('*') && key.starts_with(each.substr(0, each.size() - 1))) return true;
    }
    return false;
}

} // namespace sluice::app
