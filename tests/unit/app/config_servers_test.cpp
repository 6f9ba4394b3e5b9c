#include "config_fixture.hpp"

#include <doctest/doctest.h>

using namespace sluice;
using namespace sluice::app;
using namespace sluice::app::test;

namespace {

void wrong(const std::string& more, std::string_view part) {
    auto got = problems(with_server(more));
    CHECK_MESSAGE(has(got, part), got);
    CHECK_MESSAGE(has(got, "\n1 problem\n"), got);
}

upstream::server_settings good(const std::string& more) {
    auto got = read(with_server(more));
    REQUIRE_MESSAGE(got.ok(), render(got.problems));
    return got.values.upstream.servers.at(0);
}

std::string credential(const std::string& type, const std::string& value) {
    auto server = good("    auth_type: " + type + "\n    auth_value: '" + value + "'\n");
    return std::string(server.auth.value.reveal());
}

std::string named(const std::string& list) { // "a b:alias" → servers
    std::string out = "mcp_servers:\n";
    for (auto part : base::split(list, ' ')) {
        auto halves = base::split(part, ':');
        out += "- {server_name: \"" + std::string(halves[0]) + "\", url: 'http://x/'";
        if (halves.size() > 1) out += ", alias: \"" + std::string(halves[1]) + "\"";
        if (halves.size() > 2) out += ", access_groups: [\"" + std::string(halves[2]) + "\"]";
        out += "}\n";
    }
    return problems(out);
}

} // namespace

TEST_CASE("all of LiteLLM's keys that matter here are read") {
    auto server = good(R"(    alias: o
    description: d
    instructions: i
    transport: http
    auth_type: api_key
    authentication_token: os.environ/TOKEN
    static_headers: {X-Team: core, X-Note: "${TOKEN}"}
    extra_headers: [X-Request-Id]
    allowed_tools: [a, b]
    disallowed_tools: [c]
    allowed_params: {a: [x, y]}
    tool_name_to_display_name: {a: alpha}
    tool_name_to_description: {a: The first.}
    timeout: 30
    max_concurrent_requests: 4
    access_groups: [dev]
    allow_all_keys: true
)");
    CHECK(server.auth.type == upstream::auth_type::api_key);
    CHECK(server.auth.value.reveal() == "s3cret-token");
    CHECK(server.static_headers[1].second.reveal() == "s3cret-token");
    CHECK(server.extra_headers[0] == "x-request-id");
    CHECK(server.allowed_params.at("a")[1] == "y");
    CHECK(server.tool_name_to_display_name.at("a") == "alpha");
    CHECK(server.max_concurrent_requests == 4);
    CHECK(server.access_groups[0] == "dev");
    CHECK(server.allow_all_keys);
}

TEST_CASE("a URL is http or https, without userinfo, and its text is never shown") {
    auto got = problems("mcp_servers: {one: {url: 'http://u:pa55@x/'}}\n");
    CHECK(has(got, "mcp_servers.one.url: "));
    CHECK_FALSE(has(got, "pa55"));
    CHECK(has(problems("mcp_servers: {one: {url: 'x.com/mcp'}}\n"), "http:// or https://"));
    CHECK(has(problems("mcp_servers: {one: {transport: sse}}\n"), "url: missing"));
}

TEST_CASE("keys of the other transport are refused") {
    wrong("    command: npx\n", "command: only for stdio servers");
    auto on = "stdio: {enabled: true}\n";
    auto got = problems(std::string(on) + "mcp_servers: {one: {command: npx, auth_type: token}}\n");
    CHECK(has(got, "auth_type: only for http and sse servers"));
    got = problems(std::string(on) + "mcp_servers: {one: {transport: stdio}}\n");
    CHECK(has(got, "command: missing"));
}

TEST_CASE("local processes are refused unless enabled, and then only listed commands run") {
    auto got = problems("mcp_servers: {one: {command: npx}}\n");
    CHECK(has(got, "command: local processes are off; set stdio.enabled: true"));
    for (auto bad : {"bash", "/usr/bin/npx", "npx ;id", "python"}) {
        got = problems(
            "stdio: {enabled: true}\nmcp_servers: {one: {command: '" + std::string(bad) + "'}}\n"
        );
        CHECK_MESSAGE(has(got, "is not in stdio.allowed_commands"), bad);
    }
    got = problems("stdio: {enabled: true, allowed_commands: [/opt/x]}\n"
                   "mcp_servers: {one: {command: /opt/x, env: {1A: b}, args: [\"a\\0b\"]}}\n");
    CHECK(has(got, "env.1A: is not the name of a variable"));
    CHECK(has(got, "args[0]: holds a NUL"));
    CHECK(has(got, "2 problems"));
}

TEST_CASE("a process that may ask hosts is one per session") {
    auto asking = [](const std::string& more) {
        return "stdio: {enabled: true}\nmcp_servers: {one: {command: npx, allow_elicitation: true" +
               more + "}}\n";
    };
    auto got = read(asking(""));
    REQUIRE_MESSAGE(got.ok(), render(got.problems));
    CHECK(got.values.upstream.servers[0].allow_elicitation);
    CHECK(got.values.upstream.servers[0].isolation_per_session);
    CHECK(problems(asking(", isolation: session")).empty());
    CHECK(has(problems(asking(", isolation: shared")), "needs isolation: session"));
    CHECK_FALSE(good("    allow_roots: true\n").isolation_per_session);
    CHECK_FALSE(good("").allow_sampling);
}

TEST_CASE("a credential is settled once: scheme stripped, basic encoded") {
    CHECK(credential("bearer_token", "abc") == "abc");
    CHECK(credential("bearer_token", "Bearer abc") == "abc");
    CHECK(credential("token", "token abc") == "abc");
    CHECK(credential("basic", "user:pass") == "dXNlcjpwYXNz");
    CHECK(credential("basic", "dXNlcjpwYXNz") == "dXNlcjpwYXNz");
    CHECK(credential("basic", "Basic dXNlcjpwYXNz") == "dXNlcjpwYXNz");
    CHECK(credential("authorization", "Custom a=b, c=d") == "Custom a=b, c=d");
    CHECK(credential("api_key", "k e y") == "k e y");
}

TEST_CASE("a credential that would go up as nobody or break the request is refused") {
    auto bad = [](const std::string& type, const std::string& value, std::string_view part) {
        wrong("    auth_type: " + type + "\n    auth_value: " + value + "\n", part);
    };
    bad("bearer_token", "''", "auth_value: is empty");
    bad("bearer_token", "' '", "auth_value: is empty");
    bad("bearer_token", "${EMPTY}", "auth_value: is empty");
    bad("bearer_token", "Bearer", "holds only a scheme");
    bad("bearer_token", "'Bearer '", "holds only a scheme");
    bad("authorization", "Bearer", "holds only a scheme");
    bad("basic", "Basic", "holds only a scheme");
    bad("basic", "nonsense", "is neither user:password nor its base64");
    bad("api_key", "\"a\\r\\nX: y\"", "holds a line break");
    bad("bearer_token", "\"a\\nb\"", "holds a line break");
    bad("bearer_token", "a b", "holds a space");
    wrong("    auth_type: bearer_token\n", "auth_type: needs auth_value");
    wrong("    auth_value: x\n", "auth_value: needs auth_type");
    wrong("    auth_type: none\n    auth_value: x\n", "auth_value: is never sent");
    wrong(
        "    auth_type: token\n    auth_value: x\n    authentication_token: y\n",
        "keep one of the two"
    );
    wrong("    auth_type: bearer\n    auth_value: x\n", "is not one of none, bearer_token");
}

TEST_CASE("headers that would break or leak are refused") {
    wrong("    static_headers: {\"X Y\": a}\n", "is not the name of a header");
    wrong("    static_headers: {X: \"a\\nb\"}\n", "holds a line break");
    wrong("    static_headers: {Content-Length: 3}\n", "is set by the gateway itself");
    wrong("    static_headers: {X-a: 1, x-A: 2}\n", "given twice; names compare without case");
    wrong(
        "    auth_type: token\n    auth_value: x\n    static_headers: {authorization: y}\n",
        "auth_type sends Authorization already"
    );
    wrong("    extra_headers: [Cookie]\n", "extra_headers[0]: is never forwarded");
    wrong("    extra_headers: [X-Sluice-Api-Key]\n", "is never forwarded");
    wrong("    extra_headers: [a, Authorization]\n", "extra_headers[1]: not supported yet");
    wrong("    extra_headers: [Mcp-Session-Id]\n", "is set by the gateway itself");
    CHECK(good("    static_headers: {Authorization: Bearer x}\n").static_headers.size() == 1);
}

TEST_CASE("certificates must be there, and in pairs") {
    wrong("    tls: {ca_file: /no/such.pem}\n", "tls.ca_file: the file cannot be read");
    wrong("    tls: {client_key: /dev/null}\n", "needs tls.client_certificate too");
    wrong("    tls: {client_certificate: /dev/null}\n", "needs tls.client_key too");
    wrong("    tls: {cafile: x}\n", "tls.cafile: unknown key; did you mean \"ca_file\"?");
}

TEST_CASE("clocks and display names make sense together") {
    wrong("    timeout: 2h\n", "timeout: is longer than the max_timeout");
    wrong("    max_timeout: 5s\n", "max_timeout: is shorter than the timeout");
    wrong(
        "    tool_name_to_display_name: {a: x, b: x}\n", "another tool has the same display name"
    );
    wrong("    tool_name_to_display_name: {a: ''}\n", "a name is 1 to 128 characters");
}

TEST_CASE("names have a shape and some are reserved") {
    CHECK(named("a A.b_c-1 x:y").empty());
    CHECK(has(named("a/b"), "made of A-Z"));
    CHECK(has(named("a:b,c"), "mcp_servers[0].alias: a name is made of"));
    CHECK(has(named(std::string(33, 'a')), "at most 32"));
    CHECK(named(std::string(32, 'a')).empty());
    for (auto name :
         {"mcp",
          "sse",
          "proxy",
          "toolset",
          "admin",
          "metrics",
          "healthz",
          "readyz",
          "public",
          "v1",
          ".well-known",
          "MCP",
          ".",
          ".."}) {
        CHECK_MESSAGE(has(named(name), "is reserved"), name);
        CHECK_MESSAGE(has(named("a:b:" + std::string(name)), "access_groups[0]: "), name);
    }
    CHECK(
        has(problems("mcp_servers: [{url: 'http://x/'}]\n"), "mcp_servers[0].server_name: missing")
    );
    CHECK(has(
        problems("mcp_servers: {a: {url: 'http://x/', server_name: b}}\n"), "differs from the key"
    ));
}

TEST_CASE("names are unique over names, aliases and groups") {
    CHECK(
        has(named("a a"), "mcp_servers[1].server_name: \"a\" is the name of mcp_servers[0] already")
    );
    CHECK(has(named("a b:a"), "mcp_servers[1].alias: \"a\" is the name of"));
    CHECK(has(named("a:x b:x"), "\"x\" is the alias of mcp_servers[0]"));
    CHECK(has(named("a b:c:a"), "mcp_servers[1].access_groups[0]: \"a\" is the name of"));
    CHECK(has(named("a:x:a"), "access_groups[0]"));
    CHECK(named("a:x:g b:y:g").empty());
    CHECK(named("a:a").empty());
}

TEST_CASE("a prefix may not begin with another prefix and the separator") {
    CHECK(has(named("a a-b"), "could name the same tool"));
    CHECK(has(named("a-b a"), "could name the same tool"));
    CHECK(has(named("x:a a-b"), "could name the same tool"));
    CHECK(named("a:x a-b").empty());
    CHECK(named("a ab a.b a_b").empty());
    // With "--", a's tool "-x" and a-'s tool "x" would both be a---x.
    for (std::string second : {"a-", "a--", "a--b"}) {
        auto text = problems(
            "separator: --\nmcp_servers: {a: {url: 'http://x/'}, " + second +
            ": {url: 'http://x/'}}\n"
        );
        CAPTURE(second);
        CHECK(has(text, "could name the same tool"));
    }
    CHECK(problems("separator: --\nmcp_servers: {a: {url: 'http://x/'}, a-b: {url: 'http://x/'}}\n")
              .empty());
    CHECK(has(
        problems("separator: __\nmcp_servers: {a: {url: 'http://x/'}, a__b: {url: 'http://x/'}}\n"),
        "could name the same tool"
    ));
    CHECK(problems("separator: __\nmcp_servers: {a: {url: 'http://x/'}, a-b: {url: 'http://x/'}}\n")
              .empty());
}
