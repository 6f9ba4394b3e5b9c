// Which header fields go up to a server: its credential, its static headers, and those of the
// host's that the configuration names. Pure; the only place that reveals these secrets. Nothing
// here is logged.
#pragma once

#include "net/http.hpp"
#include "upstream/settings.hpp"

#include <string>
#include <utility>
#include <vector>

namespace sluice::upstream {

using header_list = std::vector<std::pair<std::string, std::string>>;

// The credential and the static headers; static ones win. No compression is asked for: answers are
// forwarded byte for byte.
net::fields own_headers(const server_settings& settings);

// Adds host headers that are allowed up: never one already there, never one that belongs to a hop
// or to the protocol, and a credential (Authorization, Cookie, …) only when extra_headers names it.
void add_forwarded(net::fields& to, const header_list& forwarded, const server_settings& settings);

} // namespace sluice::upstream
