#include "front/peer_seal.hpp"
#include "sys/clock.hpp"

#include <doctest/doctest.h>

using namespace sluice;
using namespace sluice::front;

namespace {

constexpr std::int64_t noon = 1'800'000'000'000;
const std::vector<base::secret> salts{base::secret("a salt of at least thirty-two bytes, really")};

struct letter {
    net::request_head head;

    letter() {
        head.method = "POST";
        head.target = "/up/mcp?x=1";
        net::fields carried;
        carried.add("Mcp-Session-Id", "s-1");
        carried.add("Accept", "application/json");
        carried.add("Accept", "text/event-stream");
        carried.add("Connection", "close");
        carried.add("X-Sluice-Peer-From", "smuggled");
        head.headers = sign_request(
            sys::sealer(salts), head.method, head.target, carried, {"a", "b", "key:1", "00ff"}
        );
    }
    peer_verdict read(nonce_memory& seen) const {
        return verify_request(sys::sealer(salts), head, seen);
    }
    peer_doubt doubt() const {
        nonce_memory fresh;
        return read(fresh).doubt;
    }
};

} // namespace

TEST_CASE("a signed request says who asks for whom and carries the headers that were signed") {
    sys::hand_wound_clock clock(noon);
    letter l;
    l.head.headers.add("X-Request-Id", "a proxy's");
    l.head.headers.add("Mcp-Protocol-Version", "a forger's");
    nonce_memory seen;
    auto got = l.read(seen);
    REQUIRE(got.doubt == peer_doubt::none);
    CHECK(got.claim.from == "a");
    CHECK(got.claim.to == "b");
    CHECK(got.claim.principal == "key:1");
    CHECK(got.claim.digest == "00ff");
    CHECK(got.headers.get("mcp-session-id") == "s-1");
    CHECK(got.headers.count("accept") == 2);
    CHECK_FALSE(got.headers.get("connection"));
    CHECK_FALSE(got.headers.get("x-request-id"));
    CHECK_FALSE(got.headers.get("mcp-protocol-version"));
    CHECK_FALSE(got.headers.get("x-sluice-peer-from"));
}

TEST_CASE("whatever was signed cannot be changed, doubled or left out") {
    sys::hand_wound_clock clock(noon);
    letter whole;
    for (const auto& [name, value] : whole.head.headers.all()) {
        CAPTURE(name);
        letter l = whole;
        l.head.headers.set(name, value + "x");
        CHECK(l.doubt() != peer_doubt::none);
        l = whole;
        l.head.headers.erase(name);
        CHECK(l.doubt() != peer_doubt::none);
        l = whole;
        l.head.headers.add(name, "another");
        bool first_counts = name == "x-sluice-peer-signature" || name == "x-sluice-peer-signed";
        CHECK((l.doubt() != peer_doubt::none || first_counts));
    }
    letter l = whole;
    l.head.method = "DELETE";
    CHECK(l.doubt() == peer_doubt::forged);
    l = whole;
    l.head.target = "/up/mcp";
    CHECK(l.doubt() == peer_doubt::forged);
    CHECK(whole.doubt() == peer_doubt::none);
}

TEST_CASE("a claim outside what was signed is not believed") {
    sys::hand_wound_clock clock(noon);
    // Signed by us, but over nothing that says who asks: as if another part had leaked a signature.
    sys::sealer seals(salts);
    letter l;
    std::string names = "accept";
    std::string text = "sluice peer 1\nPOST\n/up/mcp?x=1\naccept\naccept:application/json\n"
                       "accept:text/event-stream\n";
    l.head.headers.set("x-sluice-peer-signed", names);
    l.head.headers.set("x-sluice-peer-signature", seals.sign(sys::purpose::peer, text));
    CHECK(l.doubt() == peer_doubt::forged);
}

TEST_CASE("another salt's signature, another time and a second use are refused") {
    sys::hand_wound_clock clock(noon);
    letter l;
    nonce_memory seen;
    std::vector<base::secret> others{base::secret("another salt, also of thirty-two bytes")};
    CHECK(verify_request(sys::sealer(others), l.head, seen).doubt == peer_doubt::forged);
    CHECK(l.read(seen).doubt == peer_doubt::none);
    CHECK(l.read(seen).doubt == peer_doubt::replay);
    clock.advance(peer_clock_skew_ms);
    CHECK(l.read(seen).doubt == peer_doubt::replay);
    clock.advance(1);
    CHECK(l.read(seen).doubt == peer_doubt::clock);
    letter later;
    clock.advance(-peer_clock_skew_ms - 1);
    CHECK(later.doubt() == peer_doubt::clock); // from the future
    net::request_head bare;
    CHECK(verify_request(sys::sealer(salts), bare, seen).doubt == peer_doubt::unsigned_);
}

TEST_CASE("a memory of nonces that is full believes nobody until the oldest is over") {
    sys::hand_wound_clock clock(noon);
    nonce_memory few(2);
    CHECK(few.take("a", noon + 10));
    CHECK(few.take("b", noon + 20));
    CHECK_FALSE(few.take("c", noon + 30));
    clock.advance(11);
    CHECK(few.take("c", noon + 30));
    CHECK_FALSE(few.take("b", noon + 40));
}
