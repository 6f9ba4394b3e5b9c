// What goes wrong with one server, for the operator's log: each cause when it is new and, while it
// lasts, again after a while; never more than a line a second. Held by core, told by report().
// Pure: the caller brings the time and writes the line.
#pragma once

#include "aio/task.hpp"
#include "base/recent_map.hpp"
#include "base/result.hpp"
#include "upstream/settings.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::upstream {

class trouble {
public:
    // Whether to tell of this now.
    bool is_news(const base::fault& why, aio::instant now);
    // How many were not told since the last that was; from zero again.
    std::uint64_t take_untold();

private:
    base::recent_map<std::string, aio::instant> told_{8}; // by cause
    aio::instant quiet_until_{};
    std::uint64_t untold_ = 0;
};

// What the operator may do about it, in our own words; `doing` is the method of the request that
// failed.
std::string_view
advice_on(const base::fault& why, std::string_view doing, const server_settings& server);

} // namespace sluice::upstream
