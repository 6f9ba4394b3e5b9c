// Where hosts reach us, what we accept from them and how an answer becomes a stream.
#pragma once

#include "net/http_server.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace sluice::front {

struct settings {
    std::string listen = "127.0.0.1:8080"; // host:port; ":8080" is every interface
    std::string admin_listen =
        "127.0.0.1:9090";    // /metrics, /healthz, /readyz; empty = no admin listener
    std::string peer_listen; // where other replicas come; empty = nowhere
    std::string public_url;  // how hosts see us, "https://mcp.example.com/tools"; empty = unknown
    std::string mount_path;  // the path of public_url, "/tools"; empty when it has none
    // Beside loopback names and public_url. "name" (any port) or "name:port", lower case.
    std::vector<std::string> allowed_hosts;
    // "https://app.example.com" or with a port; "*" allows every origin.
    std::vector<std::string> allowed_origins;

    net::http_limits limits = {
        .names = {"limits.headers", "limits.connections", "timeouts.header"}
    };

    std::chrono::milliseconds sse_after{50};     // a call not answered by then gets a stream
    std::chrono::milliseconds keepalive{15'000}; // comment on a silent stream
    std::chrono::milliseconds retry{1'000};      // `retry:` field of R4 streams
    bool debug_header = true;                    // `x-sluice-debug: true` is answered
};

} // namespace sluice::front
