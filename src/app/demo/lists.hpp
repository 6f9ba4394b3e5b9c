// What the demo upstream offers: the texts of its tools, resources, prompt and completions.
// Pure functions of the request; used by demo_session.
#pragma once

#include "app/demo/session.hpp"
#include "wire/message.hpp"

#include <string>
#include <string_view>

namespace sluice::app::demo {

answer list_tools(const wire::message& m, const options& wanted);
answer list_prompts();
answer get_prompt(const wire::message& m);
answer list_resources();
answer list_templates();
answer read_resource(const wire::message& m);
answer complete(const wire::message& m);

// item-7 of a catalogue of at least seven extra tools.
bool is_extra_tool(std::string_view name, const options& wanted);

// {"content":[{"type":"text","text":…}]} with isError when asked.
std::string text_result(std::string_view text, bool is_error = false);

} // namespace sluice::app::demo
