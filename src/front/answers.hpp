// How an answer leaves: refusals as HTTP errors with a JSON-RPC body, a call's stream as JSON when
// the first thing to say is final and comes soon, else as server-sent events. Spec: Streamable
// HTTP, "Sending Messages to the Server", "Resumability"; decisions 5 and 6.
#pragma once

#include "aio/task.hpp"
#include "front/settings.hpp"
#include "gateway/operation.hpp"
#include "mcp/revision.hpp"
#include "net/http_server.hpp"
#include "session/session.hpp"
#include "session/stream.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::front {

using extra_headers = std::vector<std::pair<std::string, std::string>>;

// {"jsonrpc":"2.0","id":…|null,"error":…} with that status.
aio::task<> refuse(
    net::exchange& http,
    int status,
    int code,
    std::string message,
    std::string id_text,
    extra_headers headers
);
aio::task<> answer_json(net::exchange& http, int status, std::string body, extra_headers headers);
aio::task<> answer_empty(net::exchange& http, int status, extra_headers headers);

// The head of a stream of events and the first of its text; false when the host has gone already,
// which ends the reading of `of` from now on.
aio::task<bool> open_events(
    net::exchange& http,
    std::shared_ptr<session::stream> of,
    std::string first,
    extra_headers headers
);

struct stream_rules {
    const settings& front;
    mcp::revision revision;
    bool batch = false; // gather the finals into one array when JSON is possible
    extra_headers headers;
    // Set when the head of the answer is to tell where this request went.
    std::shared_ptr<const gateway::operation> explained = nullptr;
};

// Server and native name of a request that was let go up, as far as it is known by now.
void explain_route(const gateway::operation& op, extra_headers& headers);

// Serves a POST's stream to its end (or to the loss of the connection: then the stream stays).
aio::task<> answer_stream(
    net::exchange& http,
    std::shared_ptr<session::session> host,
    std::shared_ptr<session::stream> from,
    stream_rules rules
);
// Begins to serve a GET: from `after` on, as events at once. False when the host has gone already.
aio::task<bool> begin_events(
    net::exchange& http,
    std::shared_ptr<session::session> host,
    std::shared_ptr<session::stream> from,
    std::uint64_t after,
    stream_rules rules
);
// The rest of such a stream as events until it is done, pauses, or the connection is gone; true
// when the answer is whole then.
aio::task<bool> write_events(net::exchange& http, session::stream& s, const settings& front);

} // namespace sluice::front
