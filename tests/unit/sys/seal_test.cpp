#include "sys/seal.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace sluice;
using sys::purpose;

namespace {

sys::sealer with(std::vector<std::string> salts) {
    std::vector<base::secret> secrets;
    for (auto& s : salts)
        secrets.emplace_back(std::move(s));
    return sys::sealer(secrets);
}

const std::string old_salt = "an old salt of at least thirty-two bytes";
const std::string new_salt = "a new salt of at least thirty-two bytes!";

} // namespace

TEST_CASE("what is sealed opens to the same bytes, for its own purpose alone") {
    auto seal = with({old_salt});
    std::string plain("page 2\0 of x", 12);
    auto token = seal.seal(purpose::cursor, plain);
    auto opened = seal.open(purpose::cursor, token);
    REQUIRE(opened);
    CHECK(*opened == plain);
    for (auto other : {purpose::session, purpose::event, purpose::ask, purpose::peer}) {
        CHECK_FALSE(seal.open(other, token));
    }
}

TEST_CASE("the same text seals differently each time and shows nothing of itself") {
    auto seal = with({old_salt});
    auto one = seal.seal(purpose::cursor, "server-secret-name");
    auto two = seal.seal(purpose::cursor, "server-secret-name");
    CHECK(one != two);
    CHECK(one.find("secret") == std::string::npos);
}

TEST_CASE("every changed, cut or lengthened token is refused with one and the same sentence") {
    auto seal = with({old_salt});
    auto token = seal.seal(purpose::cursor, "page 2");
    auto sentence = seal.open(purpose::cursor, "nonsense").error().message;
    for (std::size_t i = 0; i < token.size(); ++i) {
        auto changed = token;
        changed[i] = changed[i] == 'A' ? 'B' : 'A';
        auto opened = seal.open(purpose::cursor, changed);
        REQUIRE_FALSE(opened);
        REQUIRE(opened.error().message == sentence);
        REQUIRE_FALSE(seal.open(purpose::cursor, token.substr(0, i)));
    }
    CHECK_FALSE(seal.open(purpose::cursor, token + "A"));
    CHECK_FALSE(seal.open(purpose::cursor, ""));
    CHECK_FALSE(seal.open(purpose::cursor, std::string(200'000, 'A')));
}

TEST_CASE("salts rotate without loss: old tokens open as long as their salt is listed") {
    auto before = with({old_salt});
    auto after = with({new_salt, old_salt});
    auto without = with({new_salt});
    auto token = before.seal(purpose::session, "x");
    CHECK(after.open(purpose::session, token).ok());
    CHECK_FALSE(without.open(purpose::session, token));
    auto fresh = after.seal(purpose::session, "x");
    CHECK(without.open(purpose::session, fresh).ok());
    CHECK_FALSE(before.open(purpose::session, fresh));
}

TEST_CASE("without a salt nothing is sealed and nothing opens") {
    auto none = with({});
    CHECK_FALSE(none.can_seal());
    auto token = with({old_salt}).seal(purpose::cursor, "x");
    CHECK_FALSE(none.open(purpose::cursor, token));
}

TEST_CASE("a sealed token is text that fits in a header, a path and a query") {
    auto seal = with({old_salt});
    for (std::size_t size : {0U, 1U, 100U, 48U * 1024U}) {
        auto token = seal.seal(purpose::event, std::string(size, '\xff'));
        REQUIRE(
            token.find_first_not_of(
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."
            ) == std::string::npos
        );
        auto opened = seal.open(purpose::event, token);
        REQUIRE(opened);
        CHECK(opened->size() == size);
    }
}

TEST_CASE("a signature is good for its text and its purpose, under every salt that is listed") {
    auto old = with({old_salt});
    auto both = with({new_salt, old_salt});
    auto fresh = with({new_salt});
    auto signature = old.sign(purpose::peer, "text");
    CHECK(old.is_signed(purpose::peer, "text", signature));
    CHECK(both.is_signed(purpose::peer, "text", signature));
    CHECK_FALSE(fresh.is_signed(purpose::peer, "text", signature));
    CHECK_FALSE(old.is_signed(purpose::peer, "texT", signature));
    CHECK_FALSE(old.is_signed(purpose::session, "text", signature));
    CHECK(fresh.is_signed(purpose::peer, "text", both.sign(purpose::peer, "text")));
    for (std::size_t i = 0; i < signature.size(); ++i) {
        auto changed = signature;
        changed[i] = changed[i] == 'A' ? 'B' : 'A';
        CHECK_FALSE(old.is_signed(purpose::peer, "text", changed));
    }
    CHECK_FALSE(old.is_signed(purpose::peer, "text", ""));
    CHECK_FALSE(old.is_signed(purpose::peer, "text", signature.substr(0, 20)));
    CHECK_FALSE(with({}).is_signed(purpose::peer, "text", signature));
}
