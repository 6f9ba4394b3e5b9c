// From where a server's lists are seen. A server may answer differently to different credentials
// and to different declared capabilities, so whatever is remembered of it is remembered per
// viewpoint (decision 1): one host's list never routes another's name.
#pragma once

#include <compare>
#include <cstddef>
#include <string>

namespace sluice::catalog {

struct viewpoint {
    std::size_t server = 0;
    // Digest of the forwarded headers and the declared capabilities; empty = there are none.
    std::string as = {};

    auto operator<=>(const viewpoint&) const = default;
};

// What is remembered at once of all viewpoints: lists, and what servers said of themselves. Beyond
// it the one that was not used for longest is forgotten, and its server is asked again.
inline constexpr std::size_t most_remembered = 1024;

} // namespace sluice::catalog
