// The log of one stream in the store, written by the replica that runs its call: what the stream
// takes is appended in order, that of one turn of the loop together, and not waited for; who sends
// a result or a question on waits until all of it is there (secure). Another replica reads it on a
// resume, or goes on with it when this one is dead; from then on nothing of ours is written any
// more. Decisions 4, 5 and 6.
#pragma once

#include "aio/task.hpp"
#include "base/result.hpp"
#include "session/event.hpp"
#include "state/store.hpp"

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace sluice::session {

struct journal_place {
    std::string key;   // of the log; also the channel where its readers are told of more
    std::string owner; // this replica
    state::log_bounds bounds;
    std::chrono::milliseconds ttl{0};
};

class journal {
public:
    journal(aio::executor ex, state::store& store, journal_place at);
    journal(const journal&) = delete;
    journal& operator=(const journal&) = delete;
    ~journal();

    // Makes the log with what there is so far. A fault: it is not kept, and nothing is written.
    aio::task<base::result<void>>
    open(const std::deque<event>& so_far, state::fields record, ending how);
    // Goes on with a log whose owner is dead, `epoch` being his. errc::fenced: another is quicker.
    aio::task<base::result<void>> take_over(std::uint64_t epoch);

    void wrote(const event& e, state::fields with);
    void set(state::fields record);
    void ended(ending how);
    // Waits until everything written so far is in the store; false when it is away.
    aio::task<bool> secure(aio::instant until);
    // Another replica has taken the log over.
    bool is_fenced() const { return *fenced_; }
    void on_fenced(std::function<void()> tell) { told_->fenced = std::move(tell); }

private:
    struct hooks {
        std::function<void()> fenced;
    };
    // Waits for the end of this turn of the loop, so that what comes together is one command.
    void flush_soon();
    void flush();

    aio::executor ex_;
    state::store& store_;
    journal_place at_;
    std::uint64_t epoch_ = 0;
    state::log_append pending_;      // entries and facts not posted yet
    std::shared_ptr<journal*> self_; // for the posted flush; null inside once this is gone
    bool flushing_ = false;
    // Outlive the journal, for answers that come late.
    std::shared_ptr<bool> fenced_ = std::make_shared<bool>(false);
    std::shared_ptr<hooks> told_ = std::make_shared<hooks>();
};

// How events and endings stand in a log.
state::log_entry entry_of(const event& e);
event event_of(state::log_entry entry);
std::string_view word_for(ending how);
ending ending_in(std::string_view word);

inline constexpr std::string_view ended_field = "ended";

} // namespace sluice::session
