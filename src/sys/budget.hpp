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

        // To `bytes` in all; false, and nothing changes, when there is no room for the difference.
        bool grow_to(std::size_t bytes) {
            if (bytes <= bytes_) return true;
            if (!of_.has_room(bytes - bytes_)) return false;
            of_.used_ += bytes - bytes_;
            bytes_ = bytes;
            return true;
        }

    private:
        budget& of_;
        std::size_t bytes_;
    };

    // Bytes that are counted elsewhere and held all the same; outlives the budget.
    void count_also(const std::size_t& elsewhere) { elsewhere_ = &elsewhere; }

    // Null when `bytes` more would be over the limit. The budget must outlive the share.
    std::shared_ptr<share> take(std::size_t bytes) {
        if (!has_room(bytes)) return nullptr;
        return std::make_shared<share>(*this, bytes);
    }
    std::size_t used() const { return used_; }

private:
    bool has_room(std::size_t bytes) const {
        return used_ + bytes + (elsewhere_ == nullptr ? 0 : *elsewhere_) <= limit_;
    }

    std::size_t limit_;
    std::size_t used_ = 0;
    const std::size_t* elsewhere_ = nullptr;
};

} // namespace sluice::sys
