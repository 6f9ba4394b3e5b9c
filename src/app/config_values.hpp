// Durations, sizes, counts and switches as people write them. Pure text in, value out.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::app {

// "60" and "1.5" are seconds; "500ms", "60s", "5m", "1h", "2d". To the millisecond, at most ten
// years.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);
// "4194304" are bytes; "512B", "32KiB", "4MiB", "1GiB" (1024), "4MB" and "32kB" (1000).
std::optional<std::size_t> parse_size(std::string_view text);
std::optional<std::size_t> parse_count(std::string_view text); // digits only
std::optional<bool> parse_switch(std::string_view text);       // true or false

// The shortest of the above that says exactly the same: "15s", "8h", "4MiB".
std::string show_duration(std::chrono::milliseconds value);
std::string show_size(std::size_t bytes);

} // namespace sluice::app
