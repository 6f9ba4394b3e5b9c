#include "base/text.hpp"
#include "sys/digest.hpp"
#include "sys/random.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace sluice;

TEST_CASE("SHA-256 gives the published digests") {
    CHECK(
        base::hex(sys::sha256("")) ==
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    );
    CHECK(
        base::hex(sys::sha256("abc")) ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
}

TEST_CASE("HMAC-SHA-256 gives the digests of RFC 4231, also with an empty key") {
    CHECK(
        base::hex(sys::hmac_sha256("Jefe", "what do ya want for nothing?")) ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    );
    CHECK(
        base::hex(sys::hmac_sha256({}, {})) ==
        "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"
    );
}

TEST_CASE("random ids are of the asked size, plain text, and differ") {
    std::set<std::string> seen;
    for (int i = 0; i < 1000; ++i) {
        auto id = sys::random_id();
        REQUIRE(id.size() == 22);
        REQUIRE(base::from_base64url(id).has_value());
        seen.insert(id);
    }
    CHECK(seen.size() == 1000);
    CHECK(sys::random_bytes(0).empty());
    CHECK(sys::random_bytes(1000).size() == 1000);
    CHECK(sys::random_u64() != sys::random_u64());
}
