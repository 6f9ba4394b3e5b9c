// What one host stream carries: the messages of one POST's calls, or of a GET. It is queue and
// event log in one: the host's writer is a position in it, and resuming is another writer at
// another position. Bounds: over them, sent events leave first, questions after all others; then
// the newest progress of a call replaces its unsent older one; then the oldest unsent note goes
// (counted). An unsent question is never dropped. A final response counts towards no bound and is
// never dropped; one above resume_result_max is delivered, but a resume finds an error in its
// place. Spec: Streamable HTTP, "Resumability and Redelivery".
#pragma once

#include "aio/channel.hpp"
#include "aio/task.hpp"
#include "base/result.hpp"
#include "session/event.hpp"
#include "session/event_log.hpp"
#include "session/journal.hpp"
#include "session/settings.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::session {

struct stream_counters {
    std::uint64_t coalesced = 0;
    std::uint64_t dropped = 0;
    std::uint64_t notes = 0;
    std::size_t bytes = 0; // kept in all streams, finals too
};

class stream {
public:
    // `finals` = how many responses end it; 0 for a GET stream, which only a session's end ends.
    stream(
        aio::executor ex,
        std::string handle,
        std::size_t finals,
        const settings& bounds,
        stream_counters& counters
    );
    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;
    ~stream();

    const std::string& handle() const { return handle_; }
    // What stands before the position in its event ids; set before the first is written.
    const std::string& public_handle() const { return public_handle_; }
    void be_known_as(std::string name) { public_handle_ = std::move(name); }

    void push_note(std::string bytes);
    void push_question(std::string bytes);
    void push_progress(std::string bytes, std::uint32_t call);
    void push_final(std::string bytes, int http_status = 0);
    void push_pause(std::uint32_t retry_ms);
    // An event of a log that another replica writes, at its own position; those rise.
    void push_copy(event e);
    // Of such a copy: nothing up to `position` will come.
    void begin_behind(std::uint64_t position) {
        next_position_ = position + 1;
        reader_ = next_position_;
    }
    // Of a call's copy: its reader may have been further than the log is yet, for progress is sent
    // on before the store has it. It waits then for what comes after.
    void be_behind_its_readers() { may_be_behind_ = true; }
    // Of such a copy: its log is another now and counts from one again.
    void begin_anew();
    void end(ending how);
    // One of several expected responses will never come (a cancelled call of a batch).
    void forgo_final();

    bool done() const { return ended_ != ending::none; }
    std::uint64_t last_position() const { return next_position_ - 1; }
    // --- the log in the store: from when it is kept, whatever is pushed is written there too ---
    // Facts about the call beside its events; the newest of a name counts.
    void note(std::string name, std::string value);
    // They go with the next event; now, when none is coming soon.
    void flush_notes();
    aio::task<base::result<void>> keep(std::unique_ptr<journal> in, state::fields record);
    // Goes on with a log whose owner is dead, from its end.
    void keep_on(std::unique_ptr<journal> taken_over);
    bool is_kept() const { return journal_ != nullptr; }
    // Another replica has taken its log over: what goes on here is nobody's.
    bool is_fenced() const { return journal_ && journal_->is_fenced(); }
    void keep_log_alive() {
        if (journal_ && !done()) journal_->keep_alive();
    }
    // Before a result or a question is sent on: it is in the store, unless that is away. False when
    // another replica has taken the stream over: then it is not ours to send.
    aio::task<bool> secure(aio::instant until);
    // A reader on another replica counts as attached.
    void read_elsewhere(bool now);
    // When it ended; before that, when it began.
    aio::instant last_event_at() const { return last_event_at_; }
    std::size_t kept_bytes() const { return bytes_; }
    // What is kept are responses, nothing else: it may leave as plain JSON.
    bool holds_only_finals() const { return ring_events_ == 0; }

    // --- the reading side: one reader at a time ---
    // The next event at or after the reader's position: a pointer that lives until the next await;
    // null when the stream is done and everything was read; errc::timeout at `until`; errc::closed
    // after close_reader().
    aio::task<base::result<const event*>> next(aio::instant until);
    // The same without waiting: null when there is nothing to read now.
    const event* try_next();
    // Puts the reader behind `position`; taken = somebody reads now.
    bool attach(std::uint64_t after_position);
    // Puts the present reader at the beginning again: what it has read was not passed on.
    void rewind() { reader_ = 1; }
    void detach();
    bool attached() const { return attached_; }
    bool is_read() const { return attached_ || elsewhere_; }
    // When the last reader left; meaningless while one is attached.
    aio::instant detached_at() const { return detached_at_; }
    // Returns when nobody reads, or at `until`.
    aio::task<> wait_detached(aio::instant until);
    // Position of the first event that no reader has taken.
    std::uint64_t next_unsent() const { return reader_; }
    // Makes the present reader's next() return errc::closed (its connection is gone).
    void close_reader();
    // Finals that the reader takes whole (a JSON answer): moves the bytes out, nothing is kept, but
    // they count as held until the reader leaves.
    std::string take(const event& e);
    // After the host has everything in a form that cannot be resumed: drop the log.
    void forget();
    // Drops what the reader has taken and written: for a stream that is never resumed.
    void forget_sent();
    // Finals above resume_result_max become errors that say so. For a stream that nobody reads.
    void shed_large_finals();
    // Everything was written to the host.
    bool fully_read() const { return reader_ >= next_position_; }

private:
    void push(event e);
    void add(event e);
    void trim();
    void drop_sent(bool questions);
    void coalesce_newest();
    void drop_unsent();
    void drop_at(std::size_t index);
    void count(const event& e, std::ptrdiff_t sign);
    std::size_t first_unsent() const;
    bool over_bounds() const;

    std::string handle_;
    std::string public_handle_;
    std::unique_ptr<journal> journal_;
    state::fields notes_;  // not in the store yet
    bool opening_ = false; // the log is being made: what is pushed waits in `unkept_`
    std::vector<event> unkept_;
    bool elsewhere_ = false;
    bool may_be_behind_ = false;
    std::size_t finals_left_;
    const settings& bounds_;
    stream_counters& counters_;
    event_log log_;
    std::size_t bytes_ = 0; // of the whole log
    std::size_t taken_bytes_ = 0;
    std::size_t ring_bytes_ = 0; // less the finals
    std::size_t ring_events_ = 0;
    std::uint64_t next_position_ = 1;
    std::uint64_t reader_ = 1; // position of the next event to send
    bool attached_ = false;
    bool reader_closed_ = false;
    ending ended_ = ending::none;
    aio::instant last_event_at_;
    aio::instant detached_at_;
    aio::signal_flag readable_;
};

} // namespace sluice::session
