// The Redis engine at a server that asks who we are: passwords, users with few rights, TLS.
#include "aio/within.hpp"
#include "engines.hpp"
#include "logs.hpp"
#include "redis_server.hpp"

using namespace sluice;
using namespace sluice::state;
using namespace sluice::state::test;

namespace {

// Every kind of thing once.
task<> use_it(store& s) {
    auto gaps = std::make_shared<int>(0);
    s.on_word([](auto, auto) {}, [gaps] { ++*gaps; });
    auto put = co_await s.put("k", "v", 60s);
    good(put);
    auto got = co_await s.get("k");
    CHECK(good(got) == "v");
    auto made = co_await s.create("r", pair("a", "b"), 60s);
    CHECK(good(made));
    auto last = co_await s.append(note("l", anyone, "x"));
    CHECK(good(last) == 1);
    auto in = co_await s.enlist("all", "me", 60s, 3);
    CHECK(good(in));
    s.listen("news");
    auto until = aio::test::late();
    while (*gaps == 0 && aio::clock::now() < until)
        co_await aio::pause(2ms);
    CHECK(*gaps > 0); // the subscription stands
}

task<> refused(store& s) {
    auto got = co_await s.get("k");
    REQUIRE_FALSE(got.ok());
    CHECK(got.error().code == errc::unreachable);
    CHECK(got.error().message.find("s3cret") == std::string::npos);
    CHECK_FALSE(s.how().up);
}

void run(redis_settings settings, task<> (*body)(store&)) {
    redis_bench bench(std::move(settings));
    aio::test::run(bench.loop, body(*bench.made));
}

// A root, a server's and a client's certificate in the server's folder.
void make_certificates(const std::string& in) {
    auto key = [&](const std::string& name) { return in + "/" + name + ".key"; };
    auto pem = [&](const std::string& name) { return in + "/" + name + ".pem"; };
    auto made = run_program(
        {"openssl",
         "req",
         "-x509",
         "-newkey",
         "ec",
         "-pkeyopt",
         "ec_paramgen_curve:prime256v1",
         "-nodes",
         "-days",
         "2",
         "-subj",
         "/CN=root",
         "-keyout",
         key("ca"),
         "-out",
         pem("ca")}
    );
    REQUIRE(made == 0);
    for (std::string name : {"server", "client"}) {
        made = run_program(
            {"openssl",
             "req",
             "-newkey",
             "ec",
             "-pkeyopt",
             "ec_paramgen_curve:prime256v1",
             "-nodes",
             "-subj",
             "/CN=" + name,
             "-addext",
             "subjectAltName=IP:127.0.0.1",
             "-keyout",
             key(name),
             "-out",
             in + "/" + name + ".csr"}
        );
        REQUIRE(made == 0);
        made = run_program(
            {"openssl",
             "x509",
             "-req",
             "-in",
             in + "/" + name + ".csr",
             "-CA",
             pem("ca"),
             "-CAkey",
             key("ca"),
             "-CAcreateserial",
             "-days",
             "2",
             "-copy_extensions",
             "copy",
             "-out",
             pem(name)}
        );
        REQUIRE(made == 0);
    }
}

} // namespace

TEST_SUITE("store:access") {

    TEST_CASE("a password is given, and the lack of one is a refusal") {
        redis_server server({"--requirepass", "s3cret"});
        redis_settings s;
        s.at = server.at();
        s.timeout = 300ms;
        run(s, refused);
        s.password = base::secret("wrong s3cret");
        run(s, refused);
        s.password = base::secret("s3cret");
        s.database = 5;
        run(s, use_it);
    }

    TEST_CASE("a user needs no more than its keys, its channels and the commands of the docs") {
        redis_server server;
        auto made = server.ask(
            {"ACL",
             "SETUSER",
             "sluice",
             "on",
             ">s3cret",
             "~sluice:*",
             "&sluice:*",
             "-@all",
             "+@connection",
             "+@read",
             "+@write",
             "+@pubsub",
             "+@scripting",
             "+time",
             "-@dangerous"}
        );
        CHECK(made == "+OK\r\n");
        redis_settings s;
        s.at = server.at();
        s.user = "sluice";
        s.password = base::secret("s3cret");
        run(s, use_it);
        s.key_prefix = "other:";
        s.timeout = 300ms;
        run(s, [](store& of) -> task<> {
            auto put = co_await of.put("k", "v", 60s);
            CHECK(fault_of(put) == errc::unreachable);
        });
    }

    TEST_CASE("TLS: the server is checked, and shown our certificate") {
        redis_server plain; // its folder outlives both
        make_certificates(plain.folder());
        auto in = plain.folder() + "/";
        redis_server server(
            {"--tls-cert-file",
             in + "server.pem",
             "--tls-key-file",
             in + "server.key",
             "--tls-ca-cert-file",
             in + "ca.pem",
             "--tls-auth-clients",
             "yes",
             "--tls-port"}
        );
        redis_settings s;
        s.at = server.at();
        s.tls = true;
        s.timeout = 500ms;
        s.certificates.certificate_file = in + "client.pem";
        s.certificates.key_file = in + "client.key";
        run(s, refused); // not signed by anybody the system knows
        s.certificates.ca_file = in + "ca.pem";
        s.timeout = 2s;
        run(s, use_it);
        s.timeout = 500ms;
        s.certificates.certificate_file.clear();
        s.certificates.key_file.clear();
        run(s, refused);
    }
}
