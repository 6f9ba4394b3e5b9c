// One request to one upstream and its answer back: notes to the host's stream as they come, ids and
// progress tokens led back with their exact text, the clocks of decision 10, cancellation.
// The final response is returned with the upstream's id, so that a caller may try elsewhere.
#pragma once

#include "aio/task.hpp"
#include "base/result.hpp"
#include "gateway/operation.hpp"
#include "upstream/link.hpp"

#include <memory>
#include <string>
#include <vector>

namespace sluice::gateway {

// Only an authoriser makes a grant, so nothing goes to an upstream that was not allowed.
struct request_to {
    policy::grant allowed;
    std::size_t server = 0; // the one that the grant names
    std::vector<upstream::outgoing::edit> edits = {};
    aio::duration silence{0}; // between two messages of the answer
    aio::duration longest{0}; // the whole call
    bool relay_notes = true;
};

// Whether this caller may ask that server for things that are not narrowed one by one.
base::result<policy::grant> may_ask(house& in, const operation& op, std::size_t server);

// Faults: errc::cancelled when the host cancelled (its stream has ended already). Throws when the
// grant is for another server or another caller.
aio::task<base::result<wire::message>> ask(house& in, shared_operation op, request_to what);

// The rest of an answer that another replica had begun to pull; `mark` is what it noted last.
// Nothing is asked, so no grant is needed. errc::unsupported where the upstream cannot go on with
// it.
aio::task<base::result<wire::message>>
ask_on(house& in, shared_operation op, std::size_t server, std::string mark);

// The one response of a call, whole; nothing when the host has cancelled it meanwhile.
void finish(operation& op, std::string response, int http_status = 0);
// Tells the host the final response: the upstream's bytes with the host's id.
void deliver(operation& op, const wire::message& response);
// Tells the host of a failure. `status` = what a single-server route answers by HTTP, 0 = 200.
void deliver_error(
    operation& op, int code, std::string_view text, std::string_view data = {}, int status = 0
);
// The failure of one named upstream.
void deliver_fault(house& in, operation& op, std::size_t server, const base::fault& f);

} // namespace sluice::gateway
