#include "base/outcome.hpp"

#include <doctest/doctest.h>

#include <memory>

using namespace sluice;
using base::errc;
using base::outcome;

TEST_CASE("what an upstream answered by status keeps its meaning as an outcome") {
    CHECK(base::outcome_of({errc::unauthorized, "x", 401}) == outcome::auth_required);
    CHECK(base::outcome_of({errc::forbidden, "x", 403}) == outcome::forbidden);
    CHECK(base::outcome_of({errc::upstream_error, "x", 500}) == outcome::upstream_error);
}

TEST_CASE("a lost connection and none at all are both unreachable, a passed deadline is a timeout"
) {
    CHECK(base::outcome_of({errc::unreachable, "x"}) == outcome::unreachable);
    CHECK(base::outcome_of({errc::closed, "x"}) == outcome::unreachable);
    CHECK(base::outcome_of({errc::timeout, "x"}) == outcome::timeout);
}

TEST_CASE("what broke the protocol is the upstream's error, what broke us is internal") {
    for (auto code : {errc::protocol, errc::parse_error, errc::invalid_request, errc::too_large}) {
        CHECK(base::outcome_of({code, "x"}) == outcome::upstream_error);
    }
    for (auto code : {errc::internal, errc::config, errc::cancelled}) {
        CHECK(base::outcome_of({code, "x"}) == outcome::internal);
    }
}

TEST_CASE("every outcome has a word of its own") {
    std::vector<std::string_view> words;
    for (int i = 0; i <= static_cast<int>(outcome::internal); ++i) {
        auto word = base::name_of(static_cast<outcome>(i));
        CHECK(std::find(words.begin(), words.end(), word) == words.end());
        words.push_back(word);
    }
}

TEST_CASE("every fault code has a word of its own") {
    std::vector<std::string_view> words;
    for (int i = 0; i <= static_cast<int>(errc::conflict); ++i) {
        auto word = base::name_of(static_cast<errc>(i));
        CHECK(word != "unknown");
        CHECK(std::find(words.begin(), words.end(), word) == words.end());
        words.push_back(word);
    }
}

TEST_CASE("a result holds its value or its fault, and gives up either") {
    base::result<std::unique_ptr<int>> good(std::make_unique<int>(7));
    REQUIRE(good.ok());
    CHECK(*std::move(*good) == 7);
    base::result<std::unique_ptr<int>> bad(base::fault(errc::not_found, "gone", 404));
    REQUIRE_FALSE(bad);
    CHECK(bad.error().http_status == 404);
    CHECK(base::result<void>().ok());
    CHECK_FALSE(base::result<void>(base::fault(errc::closed, "x")).ok());
}
