// What is fixed of a host's session when it is opened, and how the store writes it down.
#pragma once

#include "base/result.hpp"
#include "mcp/revision.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::session {

struct identity {
    std::string id;        // what the host is told; empty for a throw-away session
    std::string key;       // what it stands under in the store, sealed inside `id`
    std::string principal; // name of the key; "" = open
    std::string scope;     // canonical path of the endpoint, e.g. "/mcp/a,b"
    mcp::revision revision = mcp::latest_legacy;
    std::string capabilities;   // the host's, verbatim JSON
    std::string client_info;    // verbatim JSON
    std::string log_level;      // of an adopted session: what its host had asked for
    std::int64_t opened_ms = 0; // wall clock
    // The replica that all requests must go to, for what they need cannot leave it; empty = any.
    std::string home;
    // HTTP+SSE: opened by a GET before anybody said `initialize`, and it ends with that one stream.
    bool one_stream = false;
};

// By the wall clock: replicas have no other in common. What is opened for one request has no age.
bool is_older(const identity& who, std::chrono::milliseconds age);

std::string write_identity(const identity& who);
// errc::protocol when it is no such text.
base::result<identity> read_identity(std::string_view text);

} // namespace sluice::session
