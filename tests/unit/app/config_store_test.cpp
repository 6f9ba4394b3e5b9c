#include "config_fixture.hpp"

#include <doctest/doctest.h>

using namespace sluice;
using namespace sluice::app;
using namespace sluice::app::test;

namespace {

state::redis_settings store(const std::string& text) {
    auto got = read(with_server("peer_listen: 127.0.0.1:9191\n" + text));
    CHECK(render(got.problems) == "");
    CHECK(got.values.store.shared);
    return got.values.store.redis;
}

std::string wrong(const std::string& text) {
    return problems(with_server("peer_listen: 127.0.0.1:9191\n" + text));
}

} // namespace

TEST_CASE("without a store, and with memory, facts are this replica's own") {
    CHECK_FALSE(read(with_server("")).values.store.shared);
    auto got = read(with_server("store: memory\n"));
    CHECK(render(got.problems) == "");
    CHECK_FALSE(got.values.store.shared);
}

TEST_CASE("a store is one URL") {
    auto s = store("store: redis://cache.example\n");
    CHECK(s.at == state::redis_address{"cache.example", 6379});
    CHECK_FALSE(s.tls);
    CHECK(s.password.empty());
    s = store("store: rediss://sluice:p%40ss%2Fw@[::1]:7000/3\n");
    CHECK(s.at == state::redis_address{"::1", 7000});
    CHECK(s.tls);
    CHECK(s.user == "sluice");
    CHECK(s.password.reveal() == "p@ss/w");
    CHECK(s.database == 3);
    s = store("store: redis://:${TOKEN}@cache.example:80/\n");
    CHECK(s.user.empty());
    CHECK(s.password.reveal() == "s3cret-token");
    CHECK(s.at.port == 80);
}

TEST_CASE("a store is a block") {
    auto s = store(R"(store:
  url: rediss://cache.example
  ca_file: ca.pem
  cert_file: client.pem
  key_file: client.key
  key_prefix: "gateway:"
  timeout: 250ms
)");
    CHECK(s.certificates.ca_file == "ca.pem");
    CHECK(s.certificates.certificate_file == "client.pem");
    CHECK(s.certificates.key_file == "client.key");
    CHECK(s.key_prefix == "gateway:");
    CHECK(s.timeout == std::chrono::milliseconds(250));
    s = store(R"(store:
  url: redis://:pass@/1
  sentinels: [one.example, two.example:5000]
  master: main
  sentinel_password: other
)");
    REQUIRE(s.sentinels.size() == 2);
    CHECK(s.sentinels[0] == state::redis_address{"one.example", 26379});
    CHECK(s.sentinels[1] == state::redis_address{"two.example", 5000});
    CHECK(s.master == "main");
    CHECK(s.sentinel_password.reveal() == "other");
    CHECK(store("store: {url: redis://node.example, cluster: true}\n").cluster);
}

TEST_CASE("what is wrong with a store is said, and its password never") {
    for (const char* url : {
             "http://u:s3cret@h",
             "redis://u:s3cret@h:x",
             "redis://u:s3cret@h/db",
             "redis://u:s3cret@",
             "redis://u:s3cret@h?x=1",
             "redis://u:s3cret%zz@h",
         }) {
        CAPTURE(url);
        auto text = wrong("store: " + std::string(url) + "\n");
        CHECK(has(text, "store"));
        CHECK_FALSE(has(text, "s3cret"));
    }
    CHECK(has(problems(with_server("store: redis://h\n")), "need peer_listen"));
    CHECK(has(wrong("store: {ca_file: x}\n"), "store.url"));
    CHECK(has(wrong("store: {url: 'redis://h', ca_file: x}\n"), "store.ca_file"));
    CHECK(has(wrong("store: {url: 'rediss://h', key_file: x}\n"), "store.cert_file"));
    CHECK(has(wrong("store: {url: 'redis://h', sentinels: [a]}\n"), "store.master"));
    CHECK(has(wrong("store: {url: 'redis://h', master: a}\n"), "store.sentinels"));
    CHECK(has(wrong("store: {url: 'redis://h/2', cluster: true}\n"), "database 0"));
    CHECK(has(wrong("store: {url: 'redis://h', key_prefix: 'a{b'}\n"), "store.key_prefix"));
    CHECK(has(wrong("store: {url: 'redis://h', sentinels: ['a b'], master: m}\n"), "[0]"));
    CHECK(has(wrong("store: {url: 'redis://h', prefix: m}\n"), "unknown key"));
}

TEST_CASE("the store is no part of the registry's digest") {
    auto plain = read(with_server("")).values.registry_digest;
    CHECK(read(with_server("store: redis://h\n")).values.registry_digest == plain);
}
