// What a host can be asked, read from the capabilities it declared, and what of that may be
// declared to an upstream. Spec: Lifecycle (ClientCapabilities), elicitation modes of 2025-11-25.
#pragma once

#include <string>
#include <string_view>

namespace sluice::mcp {

struct allowed_questions {
    bool elicitation = false;
    bool sampling = false;
    bool roots = false;
    bool any() const { return elicitation || sampling || roots; }
};

// The host's own members, exact text, of the kinds that the configuration allows: a JSON object.
std::string declared_upstream(std::string_view host_capabilities, allowed_questions allowed);

// Whether a host with these capabilities can be sent this request; `mode` is elicitation's
// ("form" when absent). Unknown methods: no.
bool can_answer(std::string_view capabilities, std::string_view method, std::string_view mode);

} // namespace sluice::mcp
