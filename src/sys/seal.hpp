// Sealed tokens: `version.key id.sealed bytes`, AES-256-GCM under one HKDF-SHA256 key per purpose,
// derived from each salt once at start. The newest salt seals, every listed salt opens. The purpose
// is associated data, so a token for one purpose opens for no other. Opening fails without saying
// why.
#pragma once

#include "base/result.hpp"
#include "base/secret.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::sys {

enum class purpose : std::uint8_t { cursor, session, event, ask, peer };
inline constexpr std::size_t purposes = 5;

class sealer {
public:
    // Newest first; empty = nothing can be sealed (can_seal() is false).
    explicit sealer(const std::vector<base::secret>& salts);

    bool can_seal() const { return !rings_.empty(); }
    // Needs can_seal(). Plain texts up to 48 KiB.
    std::string seal(purpose what, std::string_view plain) const;
    // errc::invalid_params, always with the same sentence: forged, foreign, too long, other
    // purpose.
    base::result<std::string> open(purpose what, std::string_view token) const;

    // HMAC-SHA-256 under the newest salt's key, "key id.base64url". Needs can_seal().
    std::string sign(purpose what, std::string_view text) const;
    // Whether any listed salt signed exactly this; the time does not tell how near it was.
    bool is_signed(purpose what, std::string_view text, std::string_view signature) const;

private:
    struct ring {
        std::string id; // eight hex digits, in clear in every token
        std::array<base::secret, purposes> keys;
    };
    std::vector<ring> rings_;
};

} // namespace sluice::sys
