// The one check of what local processes may be started: asked when the configuration is read and
// again at every spawn.
#pragma once

#include "base/result.hpp"
#include "upstream/settings.hpp"

#include <string_view>

namespace sluice::upstream {

// Allowed only when stdio is enabled and `command` is, letter for letter, an entry of
// allowed_commands: a bare name (found through PATH when run) or an absolute path. errc::config
// with the reason otherwise.
base::result<void> may_spawn(const stdio_settings& settings, std::string_view command);

// What may stand in allowed_commands: a bare name without a slash or a shell's characters, or an
// absolute path without "." and ".." parts.
bool is_command_name(std::string_view text);

} // namespace sluice::upstream
