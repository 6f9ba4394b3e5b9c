// Cursors of the four lists: sealed references, bound to caller, endpoint, list and deadline, to an
// immutable record in the store that says where each upstream stands. Replayable; good on any
// replica with the same configuration and salt. Spec: Utilities/Pagination; decision 19;
// features.md §4, 1–29.
#pragma once

#include "aio/task.hpp"
#include "base/outcome.hpp"
#include "base/result.hpp"
#include "mcp/methods.hpp"
#include "state/store.hpp"
#include "sys/seal.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::gateway {

// Where one upstream of a listing stands. Finished upstreams are not in a position.
struct place {
    std::string server;                  // name
    std::string cursor;                  // the upstream's, exact JSON text of the string
    std::optional<std::string> revision; // its `_meta.revision` on page 1, exact JSON text
    std::vector<std::uint64_t> seen;     // digests of the cursors it gave so far
};

// An upstream that later pages do not ask again, and how its part ended.
struct rested {
    std::string server;
    base::outcome how = base::outcome::ok;
    int http_status = 0;
};

struct position {
    std::vector<place> places;
    std::vector<rested> others;   // named in the outcomes of every page
    std::uint32_t pages = 1;      // pages served so far
    std::int64_t deadline_ms = 0; // wall time; set at page 1, never extended
};

// What a cursor is bound to.
struct listing {
    mcp::method method = mcp::method::unknown;
    std::string principal; // its id
    std::string endpoint;  // the session's path
    std::string scope;     // digest of what the caller may list there
    std::string registry;  // digest of the configuration
};

struct pager_settings {
    std::chrono::milliseconds lifetime{std::chrono::minutes(10)};
    std::uint32_t max_pages = 1'000;
};

class pager {
public:
    pager(const sys::sealer& seals, state::store& store, pager_settings settings)
        : seals_(seals), store_(store), settings_(settings) {}

    bool can_continue() const { return seals_.can_seal(); }
    const pager_settings& settings() const { return settings_; }
    const sys::sealer& seals() const { return seals_; }
    state::store& store() const { return store_; }
    std::int64_t new_deadline() const;

    // The cursor for a next page, a JSON string literal. errc::unreachable when the store is away.
    aio::task<base::result<std::string>> issue(listing where, position at);

    // errc::invalid_params with a reason in the message's first word ("invalid", "expired",
    // "changed", "forgotten"): list again. A foreign caller's cursor is "invalid" like garbage.
    aio::task<base::result<position>> open(listing where, std::string cursor);

private:
    const sys::sealer& seals_;
    state::store& store_;
    pager_settings settings_;
};

} // namespace sluice::gateway
