// What a text or a number of a form must be like: lengths, formats, bounds. Pure; used by form.
// Each check returns what is wrong, or an empty text.
#pragma once

#include "app/client/form.hpp"

#include <string>
#include <string_view>

namespace sluice::app {

std::string check_text(const form_field& field, std::string_view text);
std::string check_number(const form_field& field, std::string_view typed);

} // namespace sluice::app
