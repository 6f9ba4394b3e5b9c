#include "mcp/revision.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace sluice::mcp;

TEST_CASE("every published revision reads back from its date") {
    for (auto r : {revision::r1, revision::r2, revision::r3, revision::r4, revision::r5}) {
        CHECK(parse_revision(text_of(r)) == r);
    }
    CHECK(text_of(revision::r4) == "2025-11-25");
}

TEST_CASE("a date that is no revision is none") {
    for (auto text : {"", "2025-11-24", "2025-11-25 ", "2025-11-2", "latest"}) {
        CHECK_FALSE(parse_revision(text));
    }
}

TEST_CASE("initialize gets the revision it asks for when that is a legacy one") {
    for (auto r : {revision::r1, revision::r2, revision::r3, revision::r4}) {
        CHECK(negotiate(text_of(r)) == r);
    }
}

TEST_CASE("initialize gets the latest legacy revision when it asks for a modern or unknown one") {
    for (auto text : {"2026-07-28", "2099-01-01", "1.0", ""})
        CHECK(negotiate(text) == revision::r4);
}

TEST_CASE("batches belong to 2025-03-26 alone, priming to 2025-11-25 alone") {
    for (auto r : {revision::r1, revision::r2, revision::r3, revision::r4, revision::r5}) {
        CHECK(allows_batch(r) == (text_of(r) == "2025-03-26"));
        CHECK(allows_priming(r) == (text_of(r) == "2025-11-25"));
    }
}

TEST_CASE("a request without a version header counts as 2025-03-26") {
    CHECK(text_of(assumed_without_header) == "2025-03-26");
}
