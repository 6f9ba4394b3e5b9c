// Room in the process-wide budget for the message that one reader is receiving. Small messages
// cost nothing: a share is taken once a message is larger than `free_bytes`.
#pragma once

#include "base/result.hpp"
#include "sys/budget.hpp"

#include <cstddef>
#include <memory>
#include <utility>

namespace sluice::upstream {

class room {
public:
    static constexpr std::size_t free_bytes = 64 * 1024;

    // Null = no bound.
    explicit room(sys::budget* of) : of_(of) {}

    // For `bytes` of the message in all; false when the process holds too much already.
    bool grow_to(std::size_t bytes) {
        if (bytes <= free_bytes || of_ == nullptr) return true;
        if (share_) return share_->grow_to(bytes);
        share_ = of_->take(bytes);
        return share_ != nullptr;
    }
    // What the received message keeps for as long as it lives; the next one begins anew.
    std::shared_ptr<const void> hand_over() { return std::exchange(share_, nullptr); }

private:
    sys::budget* of_;
    std::shared_ptr<sys::budget::share> share_;
};

// errc::too_many, and which setting says so.
inline base::fault no_room() {
    return {
        base::errc::too_many,
        "its answer does not fit: the gateway holds as many bytes of messages as "
        "limits.inflight_bytes allows"
    };
}

// errc::too_large, likewise.
inline base::fault too_large() {
    return {
        base::errc::too_large,
        "its answer is larger than limits.upstream_message (max_message of the server) allows"
    };
}

} // namespace sluice::upstream
