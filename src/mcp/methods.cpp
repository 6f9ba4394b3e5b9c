#include "mcp/methods.hpp"

#include <array>

namespace sluice::mcp {

namespace {

constexpr std::array<method_info, 18> table = {{
    {},
    {method::initialize, "initialize", handling::local, "", "", false},
    {method::ping, "ping", handling::local, "", "", false},
    {method::tools_list, "tools/list", handling::list, "tools", "tools", true},
    {method::tools_call, "tools/call", handling::target, "tools", "", false},
    {method::prompts_list, "prompts/list", handling::list, "prompts", "prompts", true},
    {method::prompts_get, "prompts/get", handling::target, "prompts", "", false},
    {method::resources_list, "resources/list", handling::list, "resources", "resources", true},
    {method::resource_templates_list,
     "resources/templates/list",
     handling::list,
     "resources",
     "resourceTemplates",
     true},
    {method::resources_read, "resources/read", handling::target, "resources", "", true},
    {method::resources_subscribe, "resources/subscribe", handling::watch, "resources", "", false},
    {method::resources_unsubscribe, "resources/unsubscribe", handling::watch, "resources", "", false
    },
    {method::completion_complete, "completion/complete", handling::target, "completions", "", false
    },
    {method::logging_set_level, "logging/setLevel", handling::fan_out, "logging", "", false},
    {method::initialized, "notifications/initialized", handling::local, "", "", false},
    {method::cancelled, "notifications/cancelled", handling::local, "", "", false},
    {method::progress, "notifications/progress", handling::local, "", "", false},
    {method::roots_list_changed, "notifications/roots/list_changed", handling::local, "", "", false
    },
}};

} // namespace

const method_info& describe(std::string_view text) {
    for (const auto& entry : table) {
        if (entry.text == text && entry.id != method::unknown) return entry;
    }
    return table[0];
}

const method_info& describe(method m) {
    return table.at(static_cast<std::size_t>(m));
}

} // namespace sluice::mcp
