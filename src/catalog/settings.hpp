// How the lists of many upstreams become one: names, instructions, and how long `initialize` waits.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace sluice::catalog {

struct settings {
    std::string separator = "-";                    // between prefix and tool
    std::size_t max_name = 64;                      // longer aggregate names are shortened stably
    bool merge_instructions = true;                 // upstreams' instructions under headings
    std::size_t instructions_cap = 8 * 1024;        // bytes of the merged text
    std::uint32_t max_pages = 1'000;                // of one listing
    std::chrono::milliseconds initialize_wait{500}; // for upstreams not known yet (decision 8)
};

} // namespace sluice::catalog
