// How a listing goes on: the host's cursor in, the place that follows a page, the cursor out. Used
// by lists (one upstream) and lists_union (several). Whoever gets nothing back has told the host.
#pragma once

#include "aio/task.hpp"
#include "catalog/listing.hpp"
#include "gateway/operation.hpp"
#include "gateway/pager.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::gateway {

// The position a host's cursor means; nothing when it was refused (and the host told so).
aio::task<std::optional<position>> open_cursor(house& in, shared_operation op);
void deliver_bad_cursor(house& in, operation& op, const base::fault& f);

// What follows a page of one upstream: its next place, if it has one. Nothing when the listing
// cannot go on (and the host was told why).
struct following {
    std::optional<place> next;
};
std::optional<following> follow(
    house& in, operation& op, std::size_t server, const place* before, const catalog::page& page
);

// Seals what is left of a listing: nothing is left, no cursor. Nothing at all when it cannot go on
// (and the host was told why).
struct continuation {
    std::optional<std::string> cursor;
};
aio::task<std::optional<continuation>> seal_rest(house& in, shared_operation op, position next);

} // namespace sluice::gateway
