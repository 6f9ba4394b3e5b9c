// The methods a host may call, and what the gateway must know of each: who serves it, which
// capability it needs, which parameter names its target. One table; unknown methods are -32601.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::mcp {

enum class method : std::uint8_t {
    unknown,
    initialize,
    ping,
    tools_list,
    tools_call,
    prompts_list,
    prompts_get,
    resources_list,
    resource_templates_list,
    resources_read,
    resources_subscribe,
    resources_unsubscribe,
    completion_complete,
    logging_set_level,
    // notifications
    initialized,
    cancelled,
    progress,
    roots_list_changed,
};

// What an aggregate does with it.
enum class handling : std::uint8_t {
    local,   // the gateway answers itself
    list,    // the union over permitted upstreams
    target,  // goes to the one upstream that its target names
    watch,   // as target, and remembered for the session: subscriptions
    fan_out, // goes to every permitted upstream that can
};

struct method_info {
    method id = method::unknown;
    std::string_view text;
    handling how = handling::local;
    std::string_view capability; // top-level key of ServerCapabilities; empty = none needed
    std::string_view list_key;   // lists: the member of the result that holds the items
    bool safe_to_repeat = false; // lists and reads may be sent again on a fresh connection
};

const method_info& describe(std::string_view text);
const method_info& describe(method m);

} // namespace sluice::mcp
