// One line per event, fields not prose, to stderr. JSON by default (one object a line), or text.
// Values are escaped; nothing here knows tokens, arguments or answers, and callers never pass them.
#pragma once

#include "sys/log_settings.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::sys {

void configure_log(log_settings settings);
bool log_enabled(log_level level);

// Builds one line; written when destroyed. Use: log_line(log_level::info, "call").field("server",
// s);
class log_line {
public:
    log_line(log_level level, std::string_view event);
    log_line(const log_line&) = delete;
    log_line& operator=(const log_line&) = delete;
    ~log_line();

    log_line& field(std::string_view key, std::string_view value);
    log_line& field(std::string_view key, const char* value) {
        return field(key, std::string_view(value));
    }
    log_line& field(std::string_view key, std::uint64_t value);
    log_line& field(std::string_view key, int value);
    log_line& field(std::string_view key, double value); // three decimals

private:
    log_line& raw(std::string_view key, std::string_view text);

    bool on_;
    std::string line_;
};

} // namespace sluice::sys
