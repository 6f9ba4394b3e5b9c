// The configured keys and who stands behind them. Used by front (who calls) and by the command line
// (hash-key). Keys are known by their SHA-256 only; looking one up takes the same time whether and
// where it matches.
#pragma once

#include "policy/settings.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::policy {

// Who calls. Shared by everything done for that caller; never changes.
struct principal {
    std::string name;  // the key's name; "open" when no keys are configured. For logs and metrics.
    std::string id;    // what sessions are bound to: changes when the key changes
    bool open = false; // nobody was asked
    // As in key_settings; all three absent = everything.
    std::optional<std::vector<std::string>> servers;
    std::optional<std::vector<std::string>> groups;
    std::optional<std::vector<std::string>> tools;
};

using caller = std::shared_ptr<const principal>;

// 64 lower-case hex digits; what `sluice hash-key` prints and `keys[].sha256` holds.
std::string hash_key(std::string_view key);

// The key a request presents: x-sluice-api-key (with or without "Bearer "), else x-litellm-api-key,
// else "Authorization: Bearer". The first header that is there decides, even when it is empty.
std::optional<std::string_view> presented_key(
    std::optional<std::string_view> x_sluice_api_key,
    std::optional<std::string_view> x_litellm_api_key,
    std::optional<std::string_view> authorization
);

class keyring {
public:
    explicit keyring(const settings& from);

    bool is_open() const { return entries_.empty(); }

    // Null when the key is missing or unknown (→ 401). Without configured keys everybody is the
    // open principal, whatever is presented.
    caller find(std::optional<std::string_view> key) const;
    // Who another replica says that it asked: by principal::id. Null when nobody here has that id.
    caller known_as(std::string_view id) const;

private:
    struct entry {
        std::string sha256;
        caller who;
    };
    std::vector<entry> entries_;
    caller open_;
};

} // namespace sluice::policy
