// How the Redis engine finds its store and behaves; read from the key `store` of the configuration.
#pragma once

#include "base/secret.hpp"
#include "net/http_client.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::state {

struct redis_address {
    std::string host; // no brackets for IPv6
    std::uint16_t port = 6379;
    bool operator==(const redis_address&) const = default;
    auto operator<=>(const redis_address&) const = default;
};

struct redis_settings {
    redis_address at;
    std::string user; // empty = the default user
    base::secret password;
    unsigned database = 0;

    bool tls = false;
    net::tls_settings certificates;

    std::vector<redis_address> sentinels; // with `master`; `at` is then not used
    std::string master;
    std::string sentinel_user;
    base::secret sentinel_password;

    bool cluster = false; // `at` is one of its nodes

    std::string key_prefix = "sluice:";
    std::chrono::milliseconds timeout{1'000}; // of one command, waiting for a connection included
    std::size_t max_value = 64UL * 1024 * 1024;
    // Commands that wait or are under way, a server; in time they are bounded by `timeout`. One
    // more is refused as if the store were away.
    std::size_t max_queue = 10'000;
    // And their bytes, of all servers together; one alone may have more.
    std::size_t max_queue_bytes = 128UL * 1024 * 1024;
};

} // namespace sluice::state
