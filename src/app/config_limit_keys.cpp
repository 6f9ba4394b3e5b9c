// The keys of the file that say how long and how much, and those of the log.
#include "app/config_keys.hpp"

#include <array>

namespace sluice::app {

namespace {

constexpr std::array<std::string_view, 5> level_words{"debug", "info", "warn", "error", "off"};
constexpr std::array<std::string_view, 2> format_words{"json", "text"};

using row = key_row<draft>;

constexpr std::array rows{
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

} // namespace

std::span<const key_row<draft>> limit_rows() {
    return rows;
}

} // namespace sluice::app
