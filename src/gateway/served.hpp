// One upstream as it is connected, and what the host sessions that use it share. Generations of the
// configuration that agree on it share one; it is shut down when no generation has it any more.
#pragma once

#include "upstream/server.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <string>

namespace sluice::gateway {

// Whether it is one process shared by all host sessions: then no session closes it.
inline bool is_shared(const upstream::server_settings& s) {
    return s.kind == upstream::transport::stdio && !s.isolation_per_session;
}

struct known_peer {
    // Host sessions subscribed to each URI: what a shared process must go on hearing of.
    std::map<std::string, std::size_t> subscribers;
    // The log level of each host session of a shared process, which is set to the most verbose.
    std::map<const void*, std::string> levels;
};

struct served {
    served(std::unique_ptr<upstream::server> by, std::size_t count, std::string from = {})
        : server(std::move(by)), number(count), made_from(std::move(from)) {}

    // What it was made with. Whose permissions and names these are is the directory's to say.
    const upstream::server_settings& settings() const { return server->settings(); }

    std::unique_ptr<upstream::server> server;
    std::size_t number;    // viewpoints' word for it; never given twice in a process
    std::string made_from; // digest of all settings that matter for the connection
    known_peer peers;
};

using shared_served = std::shared_ptr<served>;

} // namespace sluice::gateway
