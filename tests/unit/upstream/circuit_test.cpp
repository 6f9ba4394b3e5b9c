#include "upstream/circuit.hpp"

#include <doctest/doctest.h>

using namespace sluice;
using namespace sluice::upstream;
using std::chrono::milliseconds;

namespace {

circuit_settings two_failures() {
    circuit_settings s;
    s.failures = 2;
    s.open_for = milliseconds(1000);
    return s;
}

} // namespace

TEST_CASE("a circuit opens after failures in a row and lets one probe through later") {
    circuit c(two_failures());
    aio::instant now{};
    CHECK_FALSE(c.failed(now, 0));
    c.succeeded();
    CHECK_FALSE(c.failed(now, 0));
    CHECK(c.admits(now));
    CHECK(c.failed(now, 200)); // no shift: exactly open_for
    CHECK(c.state() == circuit_state::open);
    CHECK_FALSE(c.admits(now + milliseconds(999)));
    CHECK(c.admits(now + milliseconds(1000)));
    CHECK(c.state() == circuit_state::half_open);
    CHECK_FALSE(c.admits(now + milliseconds(1001)));
    CHECK(c.failed(now + milliseconds(1002), 200));
    CHECK_FALSE(c.admits(now + milliseconds(2001)));
    CHECK(c.admits(now + milliseconds(2002)));
    CHECK(c.succeeded());
    CHECK(c.admits(now + milliseconds(2003)));
    CHECK(c.failures() == 0);
}

TEST_CASE("a probe that is never heard of makes room for another") {
    circuit c(two_failures());
    aio::instant now{};
    c.failed(now, 0);
    c.failed(now, 200);
    CHECK(c.admits(now + milliseconds(1000)));
    CHECK_FALSE(c.admits(now + milliseconds(1999)));
    CHECK(c.admits(now + milliseconds(2000)));
}

TEST_CASE("no number of failures opens a circuit that is switched off") {
    circuit c(circuit_settings{.failures = 0, .open_for = milliseconds(1)});
    for (int i = 0; i < 100; ++i)
        CHECK_FALSE(c.failed(aio::instant{}, 0));
    CHECK(c.admits(aio::instant{}));
}

TEST_CASE("jitter stays within a fifth; backoff doubles up to its bound") {
    for (std::uint64_t chance : {0ULL, 1ULL, 399ULL, 400ULL, 401ULL, ~0ULL}) {
        auto got = jittered(milliseconds(1000), chance);
        CHECK(got >= milliseconds(800));
        CHECK(got <= milliseconds(1200));
    }
    CHECK(backoff(milliseconds(500), milliseconds(30'000), 0) == milliseconds(500));
    CHECK(backoff(milliseconds(500), milliseconds(30'000), 3) == milliseconds(4000));
    CHECK(backoff(milliseconds(500), milliseconds(30'000), 1000) == milliseconds(30'000));
}
