// The log of one stream in the store, written by the replica that runs its call: what the stream
// takes is appended in order, one append under way at a time and all that came meanwhile in the
// next; who sends a result or a question on waits until it is there (secure). While the store is
// away what is not written waits, within the log's own bounds. Another replica reads the log on a
// resume, or goes on with it when this one is dead; from then on nothing of ours is written any
// more. Decisions 4, 5 and 6.
#pragma once

#include "aio/channel.hpp"
#include "aio/task.hpp"
#include "base/result.hpp"
#include "session/event.hpp"
#include "state/store.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::session {

struct journal_place {
    std::string key;   // of the log; also the channel where its readers are told of more
    std::string owner; // this replica
    state::log_bounds bounds;
    std::chrono::milliseconds ttl{0};
    std::uint64_t* dropped = nullptr; // counts what a shared log is never given; outlives all
};

class journal {
public:
    // Launches a coroutine that writes what is there and ends; its owner joins it.
    using launcher = std::function<void(aio::task<>)>;

    journal(launcher launch, aio::executor ex, state::store& store, journal_place at);
    journal(const journal&) = delete;
    journal& operator=(const journal&) = delete;
    // What is not written yet is, unless the store stays away.
    ~journal();

    // Makes the log with what there is so far. A fault: it is not kept, and nothing is written.
    aio::task<base::result<void>>
    open(const std::vector<event>& so_far, state::fields record, ending how);
    // Goes on with a log whose owner is dead, `epoch` being his. errc::fenced: another is quicker.
    aio::task<base::result<void>> take_over(std::uint64_t epoch);
    // Writes into a log that any replica writes into; positions are the store's to give.
    void share();

    void wrote(const event& e, state::fields with);
    void set(state::fields record);
    void ended(ending how);
    // Nothing new, but the log lives on: a call may be silent for longer than its log is kept.
    void keep_alive();
    // Waits until everything so far is in the store; false when that did not come about by `until`.
    aio::task<bool> secure(aio::instant until);
    // Another replica has taken the log over.
    bool is_fenced() const;
    void on_fenced(std::function<void()> tell);

private:
    struct desk;
    static aio::task<> write_out(std::shared_ptr<desk> d);
    void write_soon();

    launcher launch_;
    // What a writer under way shares with this, and may outlive it with.
    std::shared_ptr<desk> desk_;
};

// How events and endings stand in a log.
state::log_entry entry_of(const event& e);
event event_of(state::log_entry entry);
std::string_view word_for(ending how);
ending ending_in(std::string_view word);

inline constexpr std::string_view ended_field = "ended";

} // namespace sluice::session
