// What a host can be asked, read from the capabilities it declared, and what of that may be
// declared to an upstream. Spec: Lifecycle (ClientCapabilities), elicitation modes and
// sampling.tools of 2025-11-25.
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>

namespace sluice::mcp {

struct allowed_questions {
    bool elicitation = false;
    bool sampling = false;
    bool roots = false;
    bool any() const { return elicitation || sampling || roots; }
};

// Whether a server may ask that of a client in any revision; what else it asks is -32601.
bool is_question(std::string_view method);

// The host's own members, exact text, of the kinds that the configuration allows: a JSON object.
std::string declared_upstream(std::string_view host_capabilities, allowed_questions allowed);

// Whether a host with these capabilities can be sent a request with these params (JSON text; "" =
// none). Faults: method_not_found where it did not declare it, unknown methods among them;
// invalid_params for params that do not say what is asked.
base::result<void>
can_answer(std::string_view capabilities, std::string_view method, std::string_view params);

} // namespace sluice::mcp
