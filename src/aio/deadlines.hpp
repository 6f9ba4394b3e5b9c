// Deadlines swept by one timer: arming one costs a list insertion, not a timer per wait.
// A deadline that passes calls its action once (typically: cancel a socket). Resolution: the tick.
#pragma once

#include "aio/task.hpp"

#include <functional>
#include <list>

namespace sluice::aio {

class deadlines {
public:
    // `tick` is how late an action may run after its time.
    explicit deadlines(executor ex, duration tick = std::chrono::milliseconds(20));
    deadlines(const deadlines&) = delete;
    deadlines& operator=(const deadlines&) = delete;
    ~deadlines();

    struct entry {
        instant at = never;
        std::function<void()> action;
        bool fired = false;
    };

    // Keeps one armed deadline; disarms when destroyed. Must not outlive the deadlines object.
    class guard {
    public:
        guard() = default;
        guard(deadlines* owner, std::list<entry>::iterator it) : owner_(owner), it_(it) {}
        guard(guard&& other) noexcept
            : owner_(std::exchange(other.owner_, nullptr)), it_(other.it_) {}
        guard& operator=(guard&& other) noexcept;
        ~guard() { disarm(); }

        bool fired() const { return owner_ != nullptr && it_->fired; }
        void move_to(instant at);
        void disarm();

    private:
        deadlines* owner_ = nullptr;
        std::list<entry>::iterator it_;
    };

    [[nodiscard]] guard arm(instant at, std::function<void()> action);

private:
    // Makes sure that a sweep comes at `at` or soon after.
    void expect(instant at);
    void sweep();
    void rest();

    timer timer_;
    duration tick_;
    std::list<entry> entries_;
    instant next_sweep_ = never;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

} // namespace sluice::aio
