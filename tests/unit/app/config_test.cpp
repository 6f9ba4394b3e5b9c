#include "config_fixture.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace sluice;
using namespace sluice::app;
using namespace sluice::app::test;
using namespace std::chrono_literals;

TEST_CASE("a small configuration has every default") {
    auto got = read(with_server(""));
    REQUIRE_MESSAGE(got.ok(), render(got.problems));
    CHECK(got.values.front.listen == "127.0.0.1:8080");
    CHECK(got.values.front.admin_listen == "127.0.0.1:9090");
    CHECK(got.values.front.limits.max_body_bytes == 4U * 1024 * 1024);
    CHECK(got.values.session.idle_ttl == 8h);
    REQUIRE(got.values.upstream.servers.size() == 1);
    const auto& server = got.values.upstream.servers[0];
    CHECK(server.name == "one");
    CHECK(server.kind == upstream::transport::http);
    CHECK(server.timeout == 60s);
    CHECK(server.max_timeout == 1h);
}

TEST_CASE("every section reaches its owner") {
    auto got = read(R"(
listen: localhost:0
admin_listen: off
public_url: https://Mcp.example.com/tools/
allowed_hosts: [Gateway.internal, "10.0.0.1:8443"]
allowed_origins: [https://app.example.com]
sessionless: refuse
separator: __
merge_instructions: false
log: {level: debug, format: text}
limits: {body: 1MiB, sessions_per_key: 7, upstream_message: 1MiB, metric_tool_names: 0}
timeouts: {call: 5, call_max: 10m, stream_after: 100ms, drain: 1s, initialize_wait: 1s}
circuit: {failures: 0, open_for: 1m}
stdio: {enabled: true, allowed_commands: [node], max_processes: 3}
mcp_servers:
  - server_name: files
    command: node
    args: [server.js]
    env: {A: b}
    isolation: session
  - server_name: web
    alias: w
    url: https://example.com/mcp?x=1
    transport: sse
    timeout: 7s
    max_message: 2MiB
)");
    REQUIRE_MESSAGE(got.ok(), render(got.problems));
    const auto& v = got.values;
    CHECK(v.front.listen == "127.0.0.1:0");
    CHECK(v.front.admin_listen.empty());
    CHECK(v.front.mount_path == "/tools");
    CHECK(v.front.allowed_hosts[0] == "gateway.internal");
    CHECK(v.front.sse_after == 100ms);
    CHECK(v.session.without_id == session::sessionless::refuse);
    CHECK(v.session.sessions_per_key == 7);
    CHECK(v.catalog.separator == "__");
    CHECK(v.policy.separator == "__");
    CHECK_FALSE(v.catalog.merge_instructions);
    CHECK(v.catalog.initialize_wait == 1s);
    CHECK(v.gateway.drain_timeout == 1s);
    CHECK(v.gateway.metric_tool_names == 0);
    CHECK(v.log.level == sys::log_level::debug);
    CHECK(v.upstream.circuit.failures == 0);
    CHECK(v.upstream.stdio.max_processes == 3);
    const auto& files = v.upstream.servers[0];
    CHECK(files.kind == upstream::transport::stdio);
    CHECK(files.isolation_per_session);
    CHECK(files.env.at("A").reveal() == "b");
    CHECK(files.timeout == 5s);
    CHECK(files.max_message_bytes == 1024U * 1024);
    const auto& web = v.upstream.servers[1];
    CHECK(web.prefix() == "w");
    CHECK(web.kind == upstream::transport::sse);
    CHECK(web.timeout == 7s);
    CHECK(web.max_timeout == 10min);
    CHECK(web.max_message_bytes == 2U * 1024 * 1024);
}

TEST_CASE("every problem is told at once, in the file's order, with its place") {
    CHECK(
        problems("lissten: 127.0.0.1:1\n"
                 "limits:\n"
                 "  body: lots\n"
                 "  bodyy: 1\n"
                 "tracing: redis\n"
                 "mcp_servers:\n"
                 "  one:\n"
                 "    url: ftp://x\n"
                 "    url: http://y\n") ==
        "t.yaml:1:1: lissten: unknown key; did you mean \"listen\"?\n"
        "t.yaml:3:9: limits.body: \"lots\" is not a size; write bytes, or 32KiB, 4MiB, 1GiB\n"
        "t.yaml:4:3: limits.bodyy: unknown key; did you mean \"body\"?\n"
        "t.yaml:5:1: tracing: not supported yet: tracing\n"
        "t.yaml:8:10: mcp_servers.one.url: not a usable URL: it must begin with http:// or "
        "https://\n"
        "t.yaml:9:5: mcp_servers.one.url: given twice; first on line 8\n"
        "6 problems\n"
    );
}

TEST_CASE("salts come from the file, else from the environment, and are not short") {
    auto from = [](const std::string& text, const char* name, const char* value) {
        return parse_config(text, "t.yaml", [=](std::string_view asked) {
            return asked == name ? std::optional<std::string>(value) : std::nullopt;
        });
    };
    auto plain = with_server("");
    auto got =
        from("salt_keys: [0123456789abcdef, fedcba9876543210]\n" + plain, "SLUICE_SALT_KEY", "x");
    REQUIRE_MESSAGE(got.ok(), render(got.problems));
    REQUIRE(got.values.gateway.salt_keys.size() == 2);
    CHECK(got.values.gateway.salt_keys[0].reveal() == "0123456789abcdef");
    for (auto name : {"SLUICE_SALT_KEY", "LITELLM_SALT_KEY"}) {
        got = from(plain, name, "0123456789abcdef");
        REQUIRE(got.values.gateway.salt_keys.size() == 1);
        CHECK(has(render(from(plain, name, "short-one").problems), "shorter than 16"));
        CHECK_FALSE(has(render(from(plain, name, "short-one").problems), "short-one"));
    }
    CHECK(read(plain).values.gateway.salt_keys.empty());
    CHECK(has(problems("salt_keys: [short-one]\n" + plain), "salt_keys[0]: is shorter than 16"));
    CHECK(has(problems("salt_key: x\n" + plain), "did you mean \"salt_keys\"?"));
}

TEST_CASE("the digest follows what hosts see and nothing else") {
    auto digest = [](const std::string& text) {
        auto got = read(text);
        CHECK_MESSAGE(got.ok(), render(got.problems));
        return got.values.registry_digest;
    };
    auto one = digest(with_server(""));
    CHECK(one.size() == 64);
    CHECK(one == digest("log: {level: debug}\n" + with_server("    timeout: 5s\n")));
    CHECK(one == digest(with_server("    auth_type: token\n    auth_value: x\n")));
    CHECK(one != digest(with_server("    alias: b\n")));
    CHECK(one != digest(with_server("    allowed_tools: [a]\n")));
    CHECK(one != digest("separator: _\n" + with_server("")));
    CHECK(
        digest("mcp_servers: {a: {url: 'http://x/'}, b: {url: 'http://x/'}}\n") !=
        digest("mcp_servers: {b: {url: 'http://x/'}, a: {url: 'http://x/'}}\n")
    );
}

TEST_CASE("a key that stands elsewhere is pointed to") {
    CHECK(has(problems("drain: 5s\n" + with_server("")), "did you mean \"timeouts.drain\"?"));
}

TEST_CASE("LiteLLM's keys of later features are refused as such, not as unknown") {
    for (auto key :
         {"oauth2_flow",
          "spec_path",
          "client_id",
          "scopes",
          "aws_region_name",
          "pinned_tools",
          "mcp_info",
          "server_id",
          "env_vars",
          "is_byok",
          "protocol_version",
          "token_url",
          "dcr_bridge",
          "id_jag_resource",
          "audience"}) {
        auto got = problems(with_server("    " + std::string(key) + ": x\n"));
        CHECK_MESSAGE(has(got, "not supported yet: " + std::string(key)), key);
    }
    for (auto key : {"tracing", "budgets", "litellm_settings", "guardrails"}) {
        auto got = problems(std::string(key) + ": x\n" + with_server(""));
        CHECK_MESSAGE(has(got, "not supported yet: " + std::string(key)), key);
    }
    CHECK(
        has(problems(with_server("    auth_type: oauth2\n    auth_value: x\n")),
            "auth_type: not supported yet: oauth2")
    );
}

TEST_CASE("a value of the wrong shape is said so") {
    auto wrong = [](const std::string& text, std::string_view part) {
        auto got = problems(text + "\n" + with_server(""));
        CHECK_MESSAGE(has(got, part), got);
    };
    wrong("limits: 5", "limits: must be a map, not a single value");
    wrong("listen: [a]", "listen: must be a single value, not a list");
    wrong("allowed_hosts: a", "allowed_hosts: must be a list, not a single value");
    wrong("allowed_hosts: [[a]]", "allowed_hosts[0]: must be a single value, not a list");
    wrong("merge_instructions: yes", "\"yes\" must be true or false");
    wrong(
        "log: {level: wran}", "is not one of debug, info, warn, error, off; did you mean \"warn\"?"
    );
    wrong("limits: {connections: 0}", "must be at least 1");
    wrong("limits: {connections: -1}", "\"-1\" is not a whole number");
    wrong("limits: {name_length: 20}", "must be at least 64");
    wrong("timeouts: {keepalive: 0}", "must be at least 1ms");
    wrong("keys: 5", "keys: must be a list, not a single value");
    CHECK(has(problems("- a\n"), "must be a map, not a list"));
    CHECK(has(problems("just text\n"), "must be a map, not a single value"));
    CHECK(has(problems("mcp_servers: text\n"), "must be a map by name, or a list with server_name")
    );
    CHECK(has(problems("mcp_servers: {one: text}\n"), "mcp_servers.one: must be a map"));
    CHECK(has(problems("mcp_servers: {one: }\n"), "nothing is said of this server"));
    CHECK(has(problems("listen: 127.0.0.1:1\n"), "mcp_servers: missing"));
    CHECK(problems("mcp_servers: {}\n").empty());
}

TEST_CASE("nothing written means left out") {
    CHECK(
        problems("limits:\nlisten:\nkeys:\nlog: {level: }\n" + with_server("    alias:\n")).empty()
    );
}

TEST_CASE(
    "a missing variable is an error that names it; what came from the environment is never shown"
) {
    auto got = problems(with_server("    auth_type: bearer_token\n    auth_value: ${NOPE}\n"));
    CHECK(has(got, "t.yaml:5:17: mcp_servers.one.auth_value: environment variable NOPE is not set")
    );
    got = problems("mcp_servers: {one: {url: \"${NOPE}\"}}\n");
    CHECK(has(got, "url: environment variable NOPE is not set"));
    CHECK(has(got, "\n1 problem\n"));
    got = problems(
        "limits: {body: \"${TOKEN}\"}\nlog: {level: os.environ/TOKEN}\n" + with_server("")
    );
    CHECK(has(got, "limits.body: the value is not a size"));
    CHECK(has(got, "log.level: the value is not one of"));
    CHECK_FALSE(has(got, "s3cret"));
}

TEST_CASE("addresses are checked") {
    for (auto good : {"127.0.0.1:8080", "\"[::1]:0\"", "localhost:1", "127.9.9.9:65535"}) {
        auto got = problems("listen: " + std::string(good) + "\n" + with_server(""));
        CHECK_MESSAGE(got.empty(), got);
    }
    for (auto bad :
         {"8080",
          "127.0.0.1",
          "\"::1:80\"",
          "host:80",
          "1.2.3.4:99999",
          "\"[1.2.3.4]:1\"",
          "\"[localhost]:1\"",
          "1.2.3:80"}) {
        auto got = problems("listen: " + std::string(bad) + "\n" + with_server(""));
        CHECK_MESSAGE(has(got, "listen: must be address:port"), got);
        CHECK_MESSAGE(has(got, "\n1 problem\n"), got);
    }
}

TEST_CASE("public_url, hosts and origins are checked") {
    auto wrong = [](const std::string& text, std::string_view key) {
        auto got = problems(text + "\n" + with_server(""));
        CHECK_MESSAGE(has(got, key), got);
    };
    wrong("public_url: mcp.example.com", "public_url: ");
    wrong("public_url: https://u:p@x", "public_url: ");
    wrong("public_url: https://x/?q", "public_url: must not have a query");
    wrong("allowed_hosts: [https://x]", "allowed_hosts[0]: ");
    wrong("allowed_hosts: [a, x/y]", "allowed_hosts[1]: ");
    wrong("allowed_origins: [x.com]", "allowed_origins[0]: ");
    wrong("allowed_origins: [https://x.com/]", "allowed_origins[0]: ");
    wrong("separator: ''", "separator: ");
    wrong("separator: /", "separator: ");
    wrong("stdio: {allowed_commands: [sh -c]}", "stdio.allowed_commands[0]: ");
    wrong("timeouts: {call: 2h}", "timeouts.call: timeouts.call_max is shorter");
    auto fine = "public_url: https://x\nallowed_origins: ['*', 'http://localhost:3000']\n";
    CHECK(problems(fine + with_server("")).empty());
}

TEST_CASE("a file that cannot be read is said so; one that can is read with the real environment") {
    auto missing = load_config("/no/such/file.yaml");
    CHECK(has(render(missing.problems), "/no/such/file.yaml: cannot be read: No such file"));
    CHECK(has(render(load_config("/").problems), "cannot be read"));

    auto path =
        std::filesystem::temp_directory_path() / ("sluice-" + std::to_string(::getpid()) + ".yaml");
    std::ofstream(path) << with_server("    description: os.environ/PATH\n");
    auto got = load_config(path);
    std::filesystem::remove(path);
    REQUIRE_MESSAGE(got.ok(), render(got.problems));
    CHECK(got.values.upstream.servers[0].description == ::getenv("PATH"));
}

TEST_CASE("peer_listen needs an address that other replicas can dial") {
    auto with = [](std::string keys) { return problems(keys + with_server("")); };
    CHECK(with("peer_listen: 10.0.0.1:9191\n").empty());
    CHECK(with("peer_listen: :9191\npeer_address: pod-1.sluice:9191\n").empty());
    CHECK(has(with("peer_listen: :9191\n"), "peer_address must say"));
    CHECK(has(with("peer_listen: 0.0.0.0:9191\n"), "peer_address must say"));
    CHECK(has(with("peer_listen: nowhere\n"), "must be address:port"));
    CHECK(has(with("peer_listen: :1\npeer_address: pod-1\n"), "must be host:port"));
    CHECK(has(with("peer_address: pod-1:9191\n"), "without peer_listen"));
    CHECK(has(with("lease: 10ms\n"), "lease"));
}
