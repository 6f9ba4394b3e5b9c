// The names of all who may come in, by principal::id: for whoever shows an operator what is whose.
#pragma once

#include "policy/settings.hpp"

#include <map>
#include <string>

namespace sluice::policy {

std::map<std::string, std::string> names_by_id(const settings& from);

} // namespace sluice::policy
