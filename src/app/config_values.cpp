#include "app/config_values.hpp"

#include "base/text.hpp"

#include <array>
#include <cstdint>
#include <limits>

namespace sluice::app {

namespace {

struct unit {
    std::string_view name;
    std::uint64_t worth;
};

constexpr std::array<unit, 5> time_units{
    {{"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}}
};
constexpr std::array<unit, 7> size_units{{
    {"B", 1},
    {"KiB", 1024},
    {"MiB", 1024 * 1024},
    {"GiB", 1024 * 1024 * 1024},
    {"kB", 1'000},
    {"MB", 1'000'000},
    {"GB", 1'000'000'000},
}};
constexpr std::uint64_t ten_years = 3'650ULL * 86'400'000ULL;

// "1.5" of something worth 1000 → 1500; at most three places, nothing lost.
std::optional<std::uint64_t> scaled(std::string_view number, std::uint64_t worth) {
    auto dot = number.find('.');
    auto whole = base::parse_unsigned(number.substr(0, dot));
    if (!whole || *whole > std::numeric_limits<std::uint64_t>::max() / worth / 2)
        return std::nullopt;
    std::uint64_t total = *whole * worth;
    if (dot == std::string_view::npos) return total;
    auto places = number.substr(dot + 1);
    auto part = base::parse_unsigned(places);
    if (!part || places.size() > 3) return std::nullopt;
    std::uint64_t tenths = 1;
    for (std::size_t i = 0; i < places.size(); ++i)
        tenths *= 10;
    if (*part * worth % tenths != 0) return std::nullopt;
    return total + *part * worth / tenths;
}

template <std::size_t N>
std::optional<std::uint64_t>
with_unit(std::string_view text, const std::array<unit, N>& units, std::uint64_t bare) {
    auto end = text.find_first_not_of("0123456789.");
    if (end == std::string_view::npos) return scaled(text, bare);
    auto name = base::trim(text.substr(end));
    for (const auto& each : units) {
        if (each.name == name) return scaled(text.substr(0, end), each.worth);
    }
    return std::nullopt;
}

// The largest unit of which `value` is a whole number.
template <std::size_t N>
std::string shown(std::uint64_t value, const std::array<unit, N>& units, std::size_t used) {
    const unit* best = &units[0];
    for (std::size_t i = 0; i < used; ++i) {
        if (value != 0 && value % units[i].worth == 0) best = &units[i];
    }
    return std::to_string(value / best->worth) + std::string(best->name);
}

} // namespace

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
    auto value = with_unit(text, time_units, 1'000);
    if (!value || *value > ten_years) return std::nullopt;
    return std::chrono::milliseconds(*value);
}

std::optional<std::size_t> parse_size(std::string_view text) {
    return with_unit(text, size_units, 1);
}

std::optional<std::size_t> parse_count(std::string_view text) {
    auto value = base::parse_unsigned(text);
    if (!value) return std::nullopt;
    return static_cast<std::size_t>(*value);
}

std::optional<bool> parse_switch(std::string_view text) {
    if (text == "true" || text == "True" || text == "TRUE") return true;
    if (text == "false" || text == "False" || text == "FALSE") return false;
    return std::nullopt;
}

std::string show_duration(std::chrono::milliseconds value) {
    // Days are for reading only: "24h" says more than "1d" beside "8h".
    return shown(static_cast<std::uint64_t>(value.count()), time_units, 4);
}

std::string show_size(std::size_t bytes) {
    return shown(bytes, size_units, 4);
}

} // namespace sluice::app
