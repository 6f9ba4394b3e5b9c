// What one replica writes down so that another can go on with an upstream session, or with an
// answer of it, over Streamable HTTP. JSON texts; kept in the store only, for they hold session
// ids. Pure.
#pragma once

#include "base/result.hpp"
#include "upstream/link.hpp"

#include <string>
#include <string_view>

namespace sluice::upstream {

struct session_handle {
    std::string session; // the upstream's id; empty when it gave none
    std::string target;  // path and query that requests go to
    peer_info peer;
};
std::string make_handle(const session_handle& handle);
// errc::protocol when it is no such text.
base::result<session_handle> read_handle(std::string_view text);

// Where the reading of an answer stands.
struct answer_mark {
    std::string id;    // our request id, JSON text
    std::string event; // the last event id that the upstream gave; empty = none: it can only be
                       // called off
};
std::string make_mark(const answer_mark& mark);
base::result<answer_mark> read_mark(std::string_view text);

} // namespace sluice::upstream
