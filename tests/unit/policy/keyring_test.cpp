#include "policy/keyring.hpp"

#include <doctest/doctest.h>

using namespace sluice::policy;

namespace {

settings two_keys() {
    settings s;
    key_settings alice;
    alice.name = "alice";
    alice.sha256 = hash_key("sk-alice");
    key_settings bob;
    bob.name = "bob";
    bob.sha256 = hash_key("sk-bob");
    bob.servers = std::vector<std::string>{"github"};
    s.keys = {alice, bob};
    return s;
}

} // namespace

TEST_CASE("a key finds its own principal and no other") {
    keyring ring(two_keys());
    REQUIRE(ring.find("sk-bob"));
    CHECK(ring.find("sk-bob")->name == "bob");
    CHECK(ring.find("sk-bob")->servers->front() == "github");
    CHECK(ring.find("sk-alice")->name == "alice");
    CHECK_FALSE(ring.find("sk-alice")->servers.has_value());
    CHECK(ring.find("sk-alice")->id != ring.find("sk-bob")->id);
    CHECK_FALSE(ring.find("sk-alice")->open);
}

TEST_CASE("a missing, empty or unknown key finds nobody") {
    keyring ring(two_keys());
    CHECK_FALSE(ring.find(std::nullopt));
    CHECK_FALSE(ring.find(""));
    CHECK_FALSE(ring.find("sk-alice "));
    CHECK_FALSE(ring.find(hash_key("sk-alice")));
}

TEST_CASE("without keys everybody is the open principal") {
    keyring ring{settings{}};
    CHECK(ring.is_open());
    CHECK(ring.find(std::nullopt)->open);
    CHECK(ring.find("whatever")->name == "open");
}

TEST_CASE("a key configured with upper-case hex still matches") {
    auto s = two_keys();
    for (char& c : s.keys[0].sha256)
        c = static_cast<char>(std::toupper(c));
    CHECK(keyring(s).find("sk-alice"));
}

TEST_CASE("the first key header that is there decides") {
    using text = std::optional<std::string_view>;
    text none;
    CHECK(presented_key("a", "b", "Bearer c") == text("a"));
    CHECK(presented_key("Bearer a", none, none) == text("a"));
    CHECK(presented_key(none, "b", "Bearer c") == text("b"));
    CHECK(presented_key(none, "bearer  b ", none) == text("b"));
    CHECK(presented_key(none, none, "Bearer c") == text("c"));
    CHECK(presented_key(none, none, "BEARER c") == text("c"));
    CHECK(presented_key("", "b", "Bearer c") == text(""));
    CHECK(presented_key("bearertoken", none, none) == text("bearertoken"));
    CHECK_FALSE(presented_key(none, none, none));
    CHECK_FALSE(presented_key(none, none, "Basic abc"));
    CHECK_FALSE(presented_key(none, none, "Bearerabc"));
}

TEST_CASE("a caller is known by the id that another replica names") {
    settings s;
    s.keys.push_back({});
    s.keys[0].name = "alice";
    s.keys[0].sha256 = hash_key("sk-alice");
    keyring ring(s);
    auto alice = ring.find("sk-alice");
    REQUIRE(alice);
    CHECK(ring.known_as(alice->id) == alice);
    CHECK(ring.known_as("open") == nullptr);
    CHECK(ring.known_as("alice") == nullptr);
    CHECK(ring.known_as("") == nullptr);
    keyring nobody{settings()};
    CHECK(nobody.known_as("open") == nobody.find("whatever"));
    CHECK(nobody.known_as(alice->id) == nullptr);
}
