#include "peer_house.hpp"

using namespace sluice;
using namespace sluice::front;
using namespace sluice::front::test;

TEST_CASE("the door lets nobody in whom it does not believe") {
    crossing all;
    all.run([](crossing& c) -> aio::task<> {
        int let_in = 0;
        auto count = [&](net::exchange& http, policy::caller who) -> aio::task<> {
            ++let_in;
            co_await echo(http, who);
        };
        house b(c, count, c.seals);
        co_await b.ready();
        auto alice = b.keys.find("sk-alice")->id;
        auto digest = base::hex(sys::sha256("{}"));
        auto with = [&](peer_claim claim, const sys::sealer& seals) {
            auto request = post("{}");
            request.headers =
                sign_request(seals, "POST", request.target, request.headers, std::move(claim));
            return request;
        };
        auto refused = [&](net::client_request request, std::string reason) -> aio::task<> {
            auto got = co_await ask(c, b.back.local_address(), std::move(request));
            CAPTURE(reason);
            CHECK(got.status == 403);
            CHECK(got.body == "forbidden\n");
            CHECK(metric(b.meters, "sluice_peer_refused_total{reason=\"" + reason + "\"}") == 1);
        };
        auto self = b.everybody.self();
        auto request = post("{}");
        co_await refused(std::move(request), "unsigned");
        sys::sealer others({base::secret("another salt, also of thirty-two bytes")});
        request = with({"x", self, alice, digest}, others);
        co_await refused(std::move(request), "signature");
        request = with({"x", "another", alice, digest}, c.seals);
        co_await refused(std::move(request), "elsewhere");
        request = with({"x", self, "key:nobody", digest}, c.seals);
        co_await refused(std::move(request), "principal");
        request = with({"x", self, alice, digest}, c.seals);
        request.body = "{ }";
        co_await refused(std::move(request), "digest");
        CHECK(let_in == 0);
        request = with({"x", self, alice, digest}, c.seals);
        auto again = request;
        auto got = co_await ask(c, b.back.local_address(), std::move(request));
        CHECK(got.status == 202);
        CHECK(let_in == 1);
        co_await refused(std::move(again), "replay");
        net::client_request health;
        health.method = "GET";
        health.target = "/healthz";
        got = co_await ask(c, b.back.local_address(), std::move(health));
        CHECK(got.status == 200);
        b.budget_asked = 1000;
        request = with({"x", self, alice, digest}, c.seals);
        got = co_await ask(c, b.back.local_address(), std::move(request));
        CHECK(got.status == 503);
        CHECK(let_in == 1);
        co_await b.close();
    });
}

TEST_CASE("a refusal by a peer's door is not shown to the host as an answer") {
    crossing all;
    all.run([](crossing& c) -> aio::task<> {
        sys::sealer others({base::secret("another salt, also of thirty-two bytes")});
        house a(c, echo, c.seals);
        house b(c, echo, others);
        co_await a.ready();
        co_await b.ready();
        a.home = b.everybody.self();
        auto request = post("{}");
        auto got = co_await ask(c, a.front.local_address(), std::move(request));
        CHECK(got.status == 503);
        CHECK(metric(a.meters, "sluice_peer_requests_total{outcome=\"forbidden\"}") == 1);
        co_await a.close();
        co_await b.close();
    });
}
