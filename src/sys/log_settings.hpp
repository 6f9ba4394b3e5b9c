// How the log looks; where it goes is stderr, always.
#pragma once

#include <cstdint>

namespace sluice::sys {

enum class log_level : std::uint8_t { debug, info, warn, error, off };
enum class log_format : std::uint8_t { json, text };

struct log_settings {
    log_level level = log_level::info;
    log_format format = log_format::json;
};

} // namespace sluice::sys
