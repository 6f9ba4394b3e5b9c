// Who may come in: the configured keys, by digest only.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace sluice::policy {

struct key_settings {
    std::string name;   // unique; appears in logs
    std::string sha256; // 64 lower-case hex digits, from `sluice hash-key`
    // Without servers and groups the key may use every server; with either, their union (and
    // servers with allow_all_keys). An empty list that is written out allows nothing.
    std::optional<std::vector<std::string>> servers; // names or aliases
    std::optional<std::vector<std::string>> groups;
    // Narrows further: "tool", "server/tool" or "server-tool" (with the configured separator).
    std::optional<std::vector<std::string>> tools;
};

struct settings {
    std::vector<key_settings> keys; // empty = open
    bool auth_none = false;         // `auth: none` was written out
    std::string separator = "-";    // the catalogue's, for "server-tool" entries
};

} // namespace sluice::policy
