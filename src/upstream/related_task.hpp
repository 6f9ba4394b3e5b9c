// Which task a request is about, so that what an upstream asks on a stream that its calls share
// finds the call it belongs to. Pure. Spec (2025-11-25): Tasks, "Related Task Metadata".
#pragma once

#include "wire/message.hpp"

#include <optional>
#include <string>

namespace sluice::upstream {

// What an upstream's request names in _meta; nothing when it names none. A name that is none (no
// object, no string) is the empty text, which no call has.
std::optional<std::string> related_task(const wire::message& request);

// Whether a call of ours is about that task: it fetches its result, or names it in _meta itself.
bool is_about_task(const wire::message& call, const std::string& task);

} // namespace sluice::upstream
