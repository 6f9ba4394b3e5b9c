// Those who hear what one upstream session says outside calls. A listener may be added, or end,
// while the others are told.
#pragma once

#include "upstream/link.hpp"

#include <memory>
#include <vector>

namespace sluice::upstream {

class listeners {
public:
    void add(std::weak_ptr<listener> who) {
        std::erase_if(all_, [](const auto& one) { return one.expired(); });
        all_.push_back(std::move(who));
    }
    bool empty() const {
        for (const auto& one : all_) {
            if (!one.expired()) return false;
        }
        return true;
    }
    void clear() { all_.clear(); }

    template <class Tell>
    void each(Tell tell) const {
        auto now = all_;
        for (const auto& one : now) {
            auto who = one.lock();
            if (who) tell(*who);
        }
    }

private:
    std::vector<std::weak_ptr<listener>> all_;
};

} // namespace sluice::upstream
