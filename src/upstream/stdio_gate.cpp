#include "upstream/stdio_gate.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace sluice::upstream {

namespace {

bool is_plain(std::string_view part) {
    auto plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-' || c == '+' || c == '.' || c == '@';
    };
    return !part.empty() && part != "." && part != ".." &&
           std::all_of(part.begin(), part.end(), plain);
}

} // namespace

bool is_command_name(std::string_view text) {
    if (!text.starts_with('/')) return is_plain(text);
    auto parts = base::split(text.substr(1), '/');
    return std::all_of(parts.begin(), parts.end(), is_plain);
}

base::result<void> may_spawn(const stdio_settings& settings, std::string_view command) {
    if (!settings.enabled) {
        return base::fault(
            base::errc::config, "local processes are off; set stdio.enabled: true to allow them"
        );
    }
    const auto& allowed = settings.allowed_commands;
    if (is_command_name(command) &&
        std::find(allowed.begin(), allowed.end(), command) != allowed.end()) {
        return {};
    }
    return base::fault(
        base::errc::config,
        "command \"" + std::string(command) + "\" is not in stdio.allowed_commands (" +
            base::join(allowed, ", ") + ")"
    );
}

} // namespace sluice::upstream
