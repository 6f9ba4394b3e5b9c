// memory_store::look for the two files that hold its members. Internal to state.
#pragma once

#include "state/memory_store.hpp"

namespace sluice::state {

template <class Kind>
base::result<Kind*> memory_store::look(const std::string& key) {
    auto* cell = table_.find(key);
    if (cell == nullptr) return static_cast<Kind*>(nullptr);
    auto* held = std::get_if<Kind>(&cell->what);
    if (held == nullptr)
        return base::fault(base::errc::internal, "the key holds something of another kind");
    return held;
}

} // namespace sluice::state
