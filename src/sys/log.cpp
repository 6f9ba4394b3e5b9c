#include "sys/log.hpp"

#include "wire/json.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <unistd.h>

namespace sluice::sys {

namespace {

log_settings& current() {
    static log_settings settings;
    return settings;
}

std::string_view name_of(log_level level) {
    switch (level) {
    case log_level::debug:
        return "debug";
    case log_level::info:
        return "info";
    case log_level::warn:
        return "warn";
    case log_level::error:
        return "error";
    case log_level::off:
        return "off";
    }
    return "info";
}

std::string timestamp() {
    auto now = std::chrono::system_clock::now();
    auto seconds = std::chrono::system_clock::to_time_t(now);
    auto millis =
        std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() %
        1000;
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    std::array<char, 32> text{};
    auto length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
    std::array<char, 8> tail{};
    std::snprintf(tail.data(), tail.size(), ".%03dZ", static_cast<int>(millis));
    return std::string(text.data(), length) + tail.data();
}

void write_all(std::string_view bytes) {
    while (!bytes.empty()) {
        auto written = ::write(STDERR_FILENO, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return; // a log that cannot be written must not stop the gateway
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
}

} // namespace

void configure_log(log_settings settings) {
    current() = settings;
}

bool log_enabled(log_level level) {
    return current().level != log_level::off && level >= current().level;
}

log_line::log_line(log_level level, std::string_view event) : on_(log_enabled(level)) {
    if (!on_) return;
    line_.reserve(256);
    if (current().format == log_format::json) {
        line_ = R"({"time":")" + timestamp() + R"(","level":")";
        line_.append(name_of(level)).append(R"(","event":)").append(wire::quote(event));
    } else {
        line_ = timestamp() + " ";
        line_.append(name_of(level)).append(" ").append(event);
    }
}

log_line::~log_line() {
    if (!on_) return;
    line_ += current().format == log_format::json ? "}\n" : "\n";
    write_all(line_);
}

log_line& log_line::field(std::string_view key, std::string_view value) {
    if (!on_) return *this;
    return raw(key, wire::quote(value));
}

log_line& log_line::field(std::string_view key, std::uint64_t value) {
    return raw(key, std::to_string(value));
}

log_line& log_line::field(std::string_view key, int value) {
    return raw(key, std::to_string(value));
}

log_line& log_line::field(std::string_view key, double value) {
    if (!std::isfinite(value)) return raw(key, "null");
    std::array<char, 48> text{};
    auto length = std::snprintf(text.data(), text.size(), "%.3f", value);
    return raw(key, {text.data(), static_cast<std::size_t>(length > 0 ? length : 0)});
}

log_line& log_line::raw(std::string_view key, std::string_view text) {
    if (!on_) return *this;
    if (current().format == log_format::json) {
        line_.append(",\"").append(key).append("\":").append(text);
    } else {
        line_.append(" ").append(key).append("=").append(text);
    }
    return *this;
}

} // namespace sluice::sys
