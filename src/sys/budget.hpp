// A process-wide count of bytes held for messages under way. Whoever takes a share gives it back
// when the share is destroyed. Over the limit nothing is taken: the caller refuses new work.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

namespace sluice::sys {

class budget {
public:
    explicit budget(std::size_t limit) : limit_(limit) {}
    budget(const budget&) = delete;
    budget& operator=(const budget&) = delete;

    class share {
    public:
        share(budget& of, std::size_t bytes) : of_(of), bytes_(bytes) { of_.used_ += bytes_; }
        share(const share&) = delete;
        share& operator=(const share&) = delete;
        ~share() { of_.used_ -= bytes_; }

    private:
        budget& of_;
        std::size_t bytes_;
    };

    // Null when `bytes` more, beside what is held elsewhere, would be over the limit. The budget
    // must outlive the share.
    std::shared_ptr<share> take(std::size_t bytes, std::size_t held_elsewhere = 0) {
        if (used_ + bytes + held_elsewhere > limit_) return nullptr;
        return std::make_shared<share>(*this, bytes);
    }
    std::size_t used() const { return used_; }

private:
    std::size_t limit_;
    std::size_t used_ = 0;
};

} // namespace sluice::sys
