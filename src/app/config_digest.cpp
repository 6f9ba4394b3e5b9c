#include "app/config_checks.hpp"
#include "sys/digest.hpp"

#include <chrono>
#include <type_traits>

namespace sluice::app {

namespace {

// Each part with its length, so that no two lists of parts make the same text.
class parts {
public:
    void add(std::string_view part) {
        text_ += std::to_string(part.size()) + ':' + std::string(part);
    }
    void add(const names& list) {
        add(std::to_string(list.size()));
        for (const auto& each : list)
            add(each);
    }
    void add(const std::optional<names>& list) {
        add(list ? "list" : "none");
        if (list) add(*list);
    }
    void add(const std::map<std::string, std::string>& map) {
        add(std::to_string(map.size()));
        for (const auto& [key, value] : map) {
            add(key);
            add(value);
        }
    }
    template <class Number>
        requires std::is_arithmetic_v<Number>
    void add(Number value) {
        add(std::string_view(std::to_string(value)));
    }
    void add(std::chrono::milliseconds value) { add(value.count()); }
    void add(const base::secret& value) { add(value.reveal()); }
    void add(const net::tls_settings& tls) {
        add(tls.ca_file);
        add(tls.certificate_file);
        add(tls.key_file);
    }
    const std::string& text() const { return text_; }

private:
    std::string text_;
};

void add_server(parts& to, const upstream::server_settings& server) {
    to.add(server.name);
    to.add(server.alias);
    to.add(std::to_string(static_cast<int>(server.kind)));
    to.add(server.url);
    to.add(server.command);
    to.add(server.args);
    to.add(server.allowed_tools);
    to.add(server.disallowed_tools);
    to.add(server.tool_name_to_display_name);
    to.add(server.tool_name_to_description);
    to.add(server.access_groups);
    to.add(server.allow_all_keys ? "all" : "some");
}

void add_limits(parts& to, const upstream::server_settings& server) {
    to.add(server.isolation_per_session);
    to.add(server.allow_elicitation);
    to.add(server.allow_sampling);
    to.add(server.allow_roots);
    to.add(server.timeout);
    to.add(server.max_timeout);
    to.add(server.connect_timeout);
    to.add(server.initialize_timeout);
    to.add(server.list_timeout);
    to.add(server.max_concurrent_requests);
    to.add(server.max_message_bytes);
}

void add_stdio(parts& to, const upstream::stdio_settings& stdio) {
    to.add(stdio.enabled);
    to.add(stdio.allowed_commands);
    to.add(stdio.environment);
    to.add(stdio.max_processes);
    to.add(stdio.shutdown_step);
    to.add(stdio.restart_min);
    to.add(stdio.restart_max);
}

std::string text_of(const net::http_limits& limits) {
    parts of;
    of.add(limits.max_header_bytes);
    of.add(limits.max_body_bytes);
    of.add(limits.max_connections);
    of.add(limits.header_timeout);
    of.add(limits.body_timeout);
    of.add(limits.idle_timeout);
    of.add(limits.write_timeout);
    return of.text();
}

std::string text_of(const store_settings& store) {
    parts of;
    const auto& redis = store.redis;
    of.add(store.shared);
    for (const auto& at : redis.sentinels) {
        of.add(at.host);
        of.add(at.port);
    }
    of.add(redis.at.host);
    of.add(redis.at.port);
    of.add(redis.user);
    of.add(redis.password);
    of.add(redis.database);
    of.add(redis.tls);
    of.add(redis.certificates);
    of.add(redis.master);
    of.add(redis.sentinel_user);
    of.add(redis.sentinel_password);
    of.add(redis.cluster);
    of.add(redis.key_prefix);
    of.add(redis.timeout);
    return of.text();
}

} // namespace

std::string connection_of(const upstream::server_settings& server, const upstream::settings& all) {
    parts of;
    of.add(server.name);
    of.add(static_cast<int>(server.kind));
    of.add(server.url);
    of.add(server.tls);
    of.add(server.command);
    of.add(server.args);
    of.add(server.env.size());
    for (const auto& [name, value] : server.env) {
        of.add(name);
        of.add(value);
    }
    of.add(static_cast<int>(server.auth.type));
    of.add(server.auth.value);
    of.add(server.static_headers.size());
    for (const auto& [name, value] : server.static_headers) {
        of.add(name);
        of.add(value);
    }
    of.add(server.extra_headers);
    add_limits(of, server);
    if (server.kind == upstream::transport::stdio) add_stdio(of, all.stdio);
    of.add(all.circuit.failures);
    of.add(all.circuit.open_for);
    return base::hex(sys::sha256(of.text()));
}

std::vector<std::pair<std::string_view, std::string>> fixed_in(const settings& all) {
    const auto& g = all.gateway;
    parts salts;
    for (const auto& salt : g.salt_keys)
        salts.add(salt);
    return {
        {"listen", all.front.listen},
        {"admin_listen", all.front.admin_listen},
        {"peer_listen", all.front.peer_listen},
        {"peer_address", g.peer.address},
        {"lease", std::to_string(g.peer.lease.count())},
        {"store", text_of(all.store)},
        {"salt_keys", salts.text()},
        {"limits and timeouts of HTTP", text_of(all.front.limits)},
        {"limits.inflight_bytes", std::to_string(g.inflight_bytes)},
        {"limits.metric_tool_names", std::to_string(g.metric_tool_names)},
    };
}

std::string digest_of(const settings& all) {
    parts of;
    of.add(all.catalog.separator);
    of.add(std::to_string(all.catalog.max_name));
    of.add(std::to_string(all.upstream.servers.size()));
    for (const auto& server : all.upstream.servers)
        add_server(of, server);
    for (const auto& key : all.policy.keys) {
        of.add(key.name);
        of.add(key.servers);
        of.add(key.groups);
        of.add(key.tools);
    }
    return base::hex(sys::sha256(of.text()));
}

} // namespace sluice::app
