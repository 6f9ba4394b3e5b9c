#include "app/gauges.hpp"

namespace sluice::app {

namespace {

using labels = std::vector<std::pair<std::string, std::string>>;

class readings {
public:
    template <class Number>
    void gauge(const char* name, const char* help, Number value, labels with = {}) {
        all_.push_back({name, help, std::move(with), static_cast<double>(value), false});
    }
    template <class Number>
    void count(const char* name, const char* help, Number value, labels with = {}) {
        all_.push_back({name, help, std::move(with), static_cast<double>(value), true});
    }
    std::vector<sys::gauge_reading> take() { return std::move(all_); }

private:
    std::vector<sys::gauge_reading> all_;
};

double openness(upstream::circuit_state circuit) {
    switch (circuit) {
    case upstream::circuit_state::open:
        return 1.0;
    case upstream::circuit_state::half_open:
        return 0.5;
    case upstream::circuit_state::closed:
        return 0.0;
    }
    return 0.0;
}

void read_hosts(readings& to, const gauged& from) {
    auto& sessions = from.sessions;
    const auto& streams = sessions.counters();
    const auto& http = from.listener.counters();
    constexpr auto exchanged = "Bytes exchanged with hosts";
    to.gauge("sluice_sessions", "Live host sessions", sessions.size());
    to.gauge("sluice_streams", "Host streams being read", sessions.streams_attached());
    to.gauge("sluice_calls_in_flight", "Calls under way", sessions.calls_under_way());
    to.gauge("sluice_loop_lag_seconds", "How late the event loop's last tick was", from.loop_lag);
    to.gauge(
        "sluice_request_bytes", "Bytes of requests and large answers under way", from.request_bytes
    );
    to.gauge("sluice_stream_bytes", "Bytes kept for hosts' streams", streams.bytes);
    to.gauge("sluice_connections", "Open host connections", http.open);
    to.count(
        "sluice_progress_coalesced_total",
        "Progress notes replaced by a newer one",
        streams.coalesced
    );
    to.count("sluice_notes_dropped_total", "Notes dropped at a stream's bound", streams.dropped);
    to.count("sluice_host_bytes_total", exchanged, http.bytes_in, {{"direction", "in"}});
    to.count("sluice_host_bytes_total", exchanged, http.bytes_out, {{"direction", "out"}});
}

void read_replicas(readings& to, const gauged& from) {
    const auto& sessions = from.sessions.numbers();
    const auto& n = from.replicas;
    constexpr auto orphans = "Calls of replicas that are gone, by how they ended";
    to.count("sluice_sessions_adopted_total", "Sessions taken up from the store", sessions.adopted);
    to.count(
        "sluice_sessions_ended_elsewhere_total",
        "Sessions that another replica ended",
        sessions.ended_elsewhere
    );
    to.count(
        "sluice_upstream_sessions_adopted_total",
        "Upstream sessions taken up from the store",
        n.adopted_upstreams
    );
    to.count("sluice_replays_total", "Streams read from the store", n.replays);
    to.count("sluice_orphaned_calls_total", orphans, n.orphans_resumed, {{"ending", "resumed"}});
    to.count("sluice_orphaned_calls_total", orphans, n.orphans_unknown, {{"ending", "unknown"}});
}

void read_upstream(readings& to, const upstream::server& server) {
    auto status = server.status();
    std::pair<std::string, std::string> name{"server", server.settings().name};
    auto gauge = [&](const char* metric, const char* help, auto value) {
        to.gauge(metric, help, value, {name});
    };
    auto count = [&](const char* metric, const char* help, std::uint64_t value) {
        to.count(metric, help, value, {name});
    };
    gauge(
        "sluice_upstream_circuit_open",
        "1 = open, 0.5 = half open, 0 = closed",
        openness(status.circuit)
    );
    gauge("sluice_upstream_sessions", "Sessions open at the upstream", status.links);
    gauge("sluice_upstream_in_flight", "Requests under way at the upstream", status.in_flight);
    count("sluice_upstream_connects_total", "Connections made", status.connects);
    count("sluice_upstream_reuses_total", "Requests on a kept connection", status.reuses);
    count("sluice_upstream_late_results_total", "Results nobody waited for", status.late_results);
    count(
        "sluice_upstream_stray_messages_total",
        "Messages that belong to no call",
        status.stray_messages
    );
    count(
        "sluice_upstream_dropped_notes_total",
        "Notes of the upstream that reached nobody",
        status.dropped_notes
    );
    count(
        "sluice_upstream_unanswered_total",
        "Requests of the upstream that got no answer",
        status.unanswered
    );
    count("sluice_upstream_restarts_total", "Restarts of a local process", status.restarts);
    constexpr auto metric = "sluice_upstream_bytes_total";
    to.count(metric, "Bytes exchanged", status.bytes_in, {name, {"direction", "in"}});
    to.count(metric, "Bytes exchanged", status.bytes_out, {name, {"direction", "out"}});
}

} // namespace

void count_reloads(std::vector<sys::gauge_reading>& to, std::uint64_t ok, std::uint64_t refused) {
    constexpr auto name = "sluice_config_reloads_total";
    constexpr auto help = "Times the configuration was read again, by what became of it";
    to.push_back({name, help, {{"outcome", "ok"}}, static_cast<double>(ok), true});
    to.push_back({name, help, {{"outcome", "refused"}}, static_cast<double>(refused), true});
}

std::vector<sys::gauge_reading> read_gauges(const gauged& from) {
    readings to;
    read_hosts(to, from);
    read_replicas(to, from);
    for (const auto& server : from.servers)
        read_upstream(to, *server->server);
    to.gauge("sluice_build_info", "Always 1", 1, {{"version", SLUICE_VERSION}});
    return to.take();
}

} // namespace sluice::app
