// Merging what many upstreams say of themselves at `initialize`: instructions under headings within
// a cap, and capabilities reduced to what the gateway can deliver.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::catalog {

struct section {
    std::string server;
    std::string text;
};

// "## name\n\ntext" joined by blank lines; cut at a character with a sentence that says so.
std::string merge_instructions(const std::vector<section>& sections, std::size_t cap);

// The union of the given ServerCapabilities objects (JSON texts), holding only what the gateway can
// deliver: no tasks, and listChanged/subscribe only as asked. `experimental` is kept for a single
// server.
struct deliverable {
    bool list_changed = false;
    bool subscribe = false;
};
std::string merge_capabilities(const std::vector<std::string_view>& each, deliverable can);
// Whether a ServerCapabilities text has that key at its top.
bool has_capability(std::string_view capabilities, std::string_view key);

} // namespace sluice::catalog
