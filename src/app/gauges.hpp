// What /metrics shows that is a state rather than an event, read at each scrape.
#pragma once

#include "gateway/operation.hpp"
#include "net/http_server.hpp"
#include "session/registry.hpp"
#include "sys/meters.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::app {

struct gauged {
    session::registry& sessions;
    const net::http_server& listener;
    const std::vector<gateway::shared_served>& servers;
    const gateway::replica_numbers& replicas;
    std::size_t request_bytes = 0; // under way
    double loop_lag = 0;           // seconds
};

void count_reloads(std::vector<sys::gauge_reading>& to, std::uint64_t ok, std::uint64_t refused);
std::vector<sys::gauge_reading> read_gauges(const gauged& from);

} // namespace sluice::app
