// What makes a request of another replica believed: an HMAC under a key derived from the salts,
// over method, target, who is asked and for whom, every header that counts, time, nonce and the
// body's digest. Used by peers (signs) and peer_door (verifies). What is not signed is dropped, so
// a proxy between replicas may add headers, but none that decides anything.
#pragma once

#include "base/result.hpp"
#include "net/http.hpp"
#include "sys/seal.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace sluice::front {

// Whose request it is, and which replicas it goes between.
struct peer_claim {
    std::string from; // replica ids
    std::string to;
    std::string principal;    // policy::principal::id
    std::string digest;       // SHA-256 of the body, hex
    std::string said_by = {}; // the upstream whose message the body is; empty = the host's
};

// The headers to send: those of `carried`, and the claim with its signature.
net::fields sign_request(
    const sys::sealer& seals,
    std::string_view method,
    std::string_view target,
    const net::fields& carried,
    peer_claim claim
);

// Nonces of requests that were believed, for as long as their time would still be: a second request
// with one of them is a replay. When it is full nothing more is believed; it holds more than a
// replica can serve.
class nonce_memory {
public:
    explicit nonce_memory(std::size_t most = 250'000) : most_(most) {}
    // False when it was seen before, or there is no room.
    bool take(std::string_view nonce, std::int64_t until_ms);

private:
    std::size_t most_;
    std::deque<std::pair<std::int64_t, std::uint64_t>> order_;
    std::unordered_set<std::uint64_t> seen_;
};

enum class peer_doubt : std::uint8_t { none, unsigned_, forged, clock, replay, elsewhere };
std::string_view name_of(peer_doubt doubt);

struct peer_verdict {
    peer_doubt doubt = peer_doubt::none;
    peer_claim claim;
    net::fields headers; // what was signed, without the claim
};

inline constexpr std::int64_t peer_clock_skew_ms = 30'000;

// Everything but the body, whose digest is in the claim, and whether claim.to is we.
peer_verdict
verify_request(const sys::sealer& seals, const net::request_head& head, nonce_memory& nonces);

} // namespace sluice::front
