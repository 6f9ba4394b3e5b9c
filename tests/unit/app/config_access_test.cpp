#include "config_fixture.hpp"
#include "policy/access.hpp"
#include "policy/keyring.hpp"

#include <doctest/doctest.h>

using namespace sluice;
using namespace sluice::app;
using namespace sluice::app::test;

namespace {

const std::string digest = policy::hash_key("sk-one");

std::string keyed(const std::string& more) {
    return with_server("    access_groups: [dev]\n") + "keys:\n- {name: k, sha256: " + digest +
           more + "}\n";
}

} // namespace

TEST_CASE("a key from the file opens the door, and only as far as it says") {
    auto got = read(keyed(", servers: [one], tools: [read]"));
    REQUIRE_MESSAGE(got.ok(), render(got.problems));
    policy::keyring ring(got.values.policy);
    auto who = ring.find("sk-one");
    REQUIRE(who);
    policy::authoriser may(got.values.policy, got.values.upstream.servers);
    const auto& server = got.values.upstream.servers[0];
    CHECK(may.may(*who, server, policy::item_kind::tool, "read"));
    CHECK_FALSE(may.may(*who, server, policy::item_kind::tool, "write"));
    CHECK_FALSE(ring.find("sk-two"));
}

TEST_CASE("an empty list of a key is kept apart from none") {
    auto got = read(keyed(", servers: []"));
    REQUIRE(got.ok());
    CHECK(got.values.policy.keys[0].servers.has_value());
    CHECK_FALSE(got.values.policy.keys[0].groups.has_value());
}

TEST_CASE("what a key names must exist") {
    CHECK(
        has(problems(keyed(", servers: [onne]")),
            "keys[0].servers[0]: no server is called \"onne\"; did you mean \"one\"?")
    );
    CHECK(has(
        problems(keyed(", groups: [dev, opps]")), "keys[0].groups[1]: no group is called \"opps\""
    ));
    CHECK(has(problems(keyed(", tools: [two/x]")), "keys[0].tools[0]: no server is called \"two\"")
    );
    CHECK(problems(keyed(", servers: [one], groups: [dev], tools: [x, one/y, one-z]")).empty());
}

TEST_CASE("an entry of tools that could mean two tools is refused, with both and how to write them"
) {
    auto tools = [](const std::string& list, const std::string& top = "") {
        return problems(
            top +
            "mcp_servers:\n  a: {url: 'http://127.0.0.1:1/mcp'}\n"
            "  a-b: {url: 'http://127.0.0.1:1/mcp', alias: x}\n"
            "keys:\n- {name: k, sha256: " +
            digest + ", tools: [" + list + "]}\n"
        );
    };
    CHECK(has(
        tools("c, a-b-c"),
        "t.yaml:5:98: keys[0].tools[1]: could mean the tool \"b-c\" of server \"a\" or the tool "
        "\"c\" of server \"a-b\"; write \"a/b-c\" or \"x/c\""
    ));
    CHECK(has(tools("a-b/c"), "write \"a/b/c\" or \"x/c\""));
    CHECK(tools("a/b-c, x-c, x/c, a/b/c, c, b-c").empty());
    CHECK(tools("a-b-c", "separator: _\n").empty());
}

TEST_CASE("keys are named, distinct, and digests; what stands there by mistake is not shown") {
    auto keys = [](const std::string& list) {
        return problems(with_server("") + "keys: " + list + "\n");
    };
    auto got = keys("[{name: k, sha256: sk-my-real-key}]");
    CHECK(has(got, "keys[0].sha256: must be 64 hex digits"));
    CHECK_FALSE(has(got, "sk-my-real-key"));
    CHECK(has(keys("[{name: k}]"), "keys[0].sha256: missing"));
    CHECK(has(keys("[{sha256: " + digest + "}]"), "keys[0].name: missing"));
    CHECK(has(keys("[{name: 'a b', sha256: " + digest + "}]"), "keys[0].name: a key's name"));
    CHECK(has(keys("[{name: k, key: x}]"), "keys[0].key: unknown key"));
    CHECK(has(keys("[{name: k, expires: x}]"), "not supported yet: expires"));
    auto twice = keys("[{name: k, sha256: " + digest + "}, {name: k, sha256: " + digest + "}]");
    CHECK(has(twice, "keys[1].name: another key has this name"));
    CHECK(has(twice, "keys[1].sha256: another key has this digest"));
    CHECK(has(keys("[text]"), "keys[0]: must be a map"));
    CHECK(has(keys("[~]"), "keys[0]: is empty"));
}

TEST_CASE("without keys only this machine is served, unless auth: none is written out") {
    auto open = "listen: 0.0.0.0:80\n" + with_server("");
    CHECK(has(problems(open), "listen: reaches beyond this machine and no keys are configured"));
    CHECK(has(problems("listen: ':80'\n" + with_server("")), "reaches beyond"));
    CHECK(has(problems("listen: '[::]:80'\n" + with_server("")), "reaches beyond"));
    CHECK(has(problems("keys: []\n" + open), "reaches beyond"));
    auto allowed = read("auth: none\n" + open);
    CHECK(allowed.ok());
    CHECK(allowed.values.policy.auth_none);
    CHECK(problems("listen: 0.0.0.0:80\n" + keyed("")).empty());
    CHECK(has(problems("auth: none\n" + keyed("")), "auth: none, but there are keys"));
    CHECK(has(problems("auth: keys\n" + with_server("")), "auth: keys, but no keys are configured")
    );
}
