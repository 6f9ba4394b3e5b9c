// A host's session: one co_await task that owns its calls and its streams, and outlives any
// connection. Made by the registry; used by gateway (which runs calls in it) and front (which reads
// its streams). Spec: Streamable HTTP, "Session Management"; decisions 6, 7, 9.
#pragma once

#include "aio/nursery.hpp"
#include "aio/task.hpp"
#include "base/result.hpp"
#include "mcp/revision.hpp"
#include "session/asks.hpp"
#include "session/identity.hpp"
#include "session/records.hpp"
#include "session/settings.hpp"
#include "session/stream.hpp"
#include "state/store.hpp"
#include "wire/token.hpp"

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sluice::session {

// The stream that a GET without Last-Event-ID reads.
inline constexpr std::string_view standing_handle = "0";

// One request of the host under way. Owned by the gateway's coroutine and listed here so that a
// cancel finds it.
class call {
public:
    call(wire::token host_id, std::shared_ptr<stream> out, std::uint32_t number)
        : host_id_(std::move(host_id)), out_(std::move(out)), number_(number) {}

    const wire::token& host_id() const { return host_id_; }
    stream& out() { return *out_; }
    const stream& out() const { return *out_; }
    std::shared_ptr<stream> shared_out() const { return out_; }
    std::uint32_t number() const { return number_; } // within its stream

    // Says that the host wants it no more; runs the interrupt of whatever it waits for.
    void cancel(std::string reason_json);
    bool is_cancelled() const { return cancelled_; }
    const std::string& reason() const { return reason_; }
    // Runs `interrupt` when the call is cancelled, as long as it lives. Several may stand at once.
    class watch {
    public:
        watch(call& of, std::function<void()> interrupt);
        watch(const watch&) = delete;
        watch& operator=(const watch&) = delete;
        ~watch() { of_.interrupts_.erase(it_); }

    private:
        call& of_;
        std::list<std::function<void()>>::iterator it_;
    };

private:
    wire::token host_id_;
    std::shared_ptr<stream> out_;
    std::uint32_t number_;
    bool cancelled_ = false;
    std::string reason_;
    std::list<std::function<void()>> interrupts_;
};

// What the gateway hangs on a session (its upstream links); destroyed after all calls have ended.
class attachment {
public:
    virtual ~attachment() = default;
    // Lets go of what it holds; bounded in time. `for_all` = the session has ended everywhere, so
    // its upstream sessions end too, also those that other replicas opened (their handles are in
    // `record`, what the store held of the session).
    virtual aio::task<> close(bool for_all, state::fields record) = 0;
    // Another replica (or this one) has changed in the record who hears that server for the
    // session, or what is subscribed there; empty = it may be so of any.
    virtual void others_say([[maybe_unused]] std::string_view server) {}
};

class session : public std::enable_shared_from_this<session> {
public:
    session(aio::executor ex, identity who, const settings& bounds, stream_counters& counters);

    const identity& who() const { return who_; }
    // What `initialize` says of the host, where the session was opened before it came. Once.
    void introduce(mcp::revision revision, std::string capabilities, std::string client_info);
    // The replica that serves all of it from now on.
    void settle_at(std::string replica) { who_.home = std::move(replica); }
    // False when somebody has begun already.
    bool begin_introduction() { return !std::exchange(introducing_, true); }
    bool is_introduced() const { return !who_.one_stream || introduced_; }
    aio::executor get_executor() const { return calls_.get_executor(); }

    // Opens a stream for `finals` responses and lists it for resume.
    std::shared_ptr<stream> open_stream(std::size_t finals);
    // The standing stream for what belongs to no call; a GET attaches to it.
    stream& standing();
    // Lists a stream that is read here and whose call runs, or ran, on another replica.
    std::shared_ptr<stream> open_copy(std::string handle);
    // From now on what that stream carries is in its log, before anybody is told of it. While the
    // store is away nothing is; it is made up for as soon as the store is back.
    aio::task<> keep_stream(std::shared_ptr<stream> s);
    journal_place place_of_log(std::string_view handle) const;
    std::unique_ptr<journal> make_journal(journal_place at);
    // A notification that belongs to no call, on the standing stream, wherever that is read.
    void tell(std::string note);
    // Of a kept session: the log that carries it, which every replica writes into.
    journal& standing_log();
    // By the handle in an event id; null when it was dropped or never was.
    std::shared_ptr<stream> find_stream(std::string_view handle);
    // Forgets a stream that nobody can or need resume.
    void drop_stream(const stream& s);

    // errc::too_many over calls_per_session.
    base::result<std::shared_ptr<call>>
    begin_call(wire::token host_id, std::shared_ptr<stream> out, std::uint32_t number);
    void end_call(const call& c);
    void cancel(const wire::token& host_id, const std::string& reason_json);
    bool has_call(const wire::token& host_id) const { return listed_.contains(host_id); }
    // Under which name the record says which replica runs a call, or waits for an answer.
    static std::string call_field(const wire::token& host_id);
    static bool is_call_field(std::string_view name) { return name.starts_with("call:"); }
    // And its value: the replica, and the handle of the call's stream.
    static std::string running_at(std::string_view replica, std::string_view handle);
    static std::pair<std::string, std::string> where_it_runs(std::string_view value);
    static std::string ask_field(const wire::token& ask_id);
    std::size_t calls_under_way() const { return listed_.size(); }

    // Questions of upstreams that wait for this host.
    asks& questions() { return asks_; }

    // Runs a coroutine of one of its calls; joined before the session is gone.
    void spawn(aio::task<> work) { calls_.spawn(std::move(work)); }

    // What the store holds of a kept session now. errc::not_found: it has ended.
    aio::task<base::result<state::fields>> read_record();

    void set_log_level(std::string level) { log_level_ = std::move(level); }
    // The same on every replica.
    aio::task<> change_log_level(std::string level);
    const std::string& log_level() const { return log_level_; }

    void attach(std::unique_ptr<attachment> held) { held_ = std::move(held); }
    attachment* held() const { return held_.get(); }

    void touch() { last_used_ = aio::clock::now(); }
    aio::instant last_used() const { return last_used_; }
    // It has a record in a store that all replicas share, and its streams may have logs there. The
    // registry says then when it has been idle for too long: another replica may be in use.
    void be_kept(records& in);
    bool is_kept() const { return kept_ != nullptr; }
    records* kept() const { return kept_; }
    // Writes into the session's record, where there is one; waits for it.
    aio::task<> write_in_record(state::fields values);
    aio::task<> forget_in_record(std::string field);
    // Stream handles as hosts see them, and back; nothing for what was not issued for this session.
    void seal_with(records& ids) { ids_ = &ids; }
    std::string public_handle(std::string_view handle) const;
    std::optional<std::string> handle_in(std::string_view text) const;
    // When its record was written or kept last.
    aio::instant last_kept{};
    // Words of the store may have been missed: look whether it still exists before it is used.
    bool is_doubtful = false;
    bool is_busy() const; // a call under way or a stream attached
    // Something of it ends with this replica unless another takes it over.
    bool holds_work() const;
    std::size_t attached_streams() const;
    std::uint32_t calls_numbered = 0; // tells the calls of a shared stream apart; front counts
    // GETs that read a stream now; front counts them.
    std::size_t gets = 0;
    // A GET is about to read the standing stream (gateway/resuming).
    bool opens_standing = false;
    bool is_ending() const { return ending_; }

    // The session's task: lives until end() or until it has been idle for its TTL, then cancels its
    // calls, ends its streams, joins, and closes what the gateway hung on it.
    aio::task<> live();
    // For all replicas: `record` is what the store held of it.
    void end(state::fields record = {});
    // Of this replica's copy alone: the session goes on elsewhere, or has been ended there.
    void end_here();

private:
    aio::task<bool> try_to_keep(std::shared_ptr<stream> s);
    static aio::task<> keep_later(std::shared_ptr<session> self, std::weak_ptr<stream> which);
    bool is_crowded() const;
    std::size_t finished_bytes() const; // how much of finished streams is kept
    void prune_streams();
    void remember_seen(const wire::token& host_id);
    std::optional<std::string> take_tombstone(const wire::token& host_id);

    // A cancel that came before its request.
    struct tombstone {
        wire::token host_id;
        std::string reason;
        aio::instant until;
    };

    identity who_;
    bool introducing_ = false;
    bool introduced_ = false;
    const settings& bounds_;
    stream_counters& counters_;
    aio::nursery calls_;
    std::unordered_multimap<wire::token, std::shared_ptr<call>> listed_;
    std::map<std::string, std::shared_ptr<stream>, std::less<>> streams_;
    std::shared_ptr<stream> standing_;
    std::unique_ptr<journal> standing_log_; // made by standing_log()
    bool joined_ = false;                   // nothing can be launched any more
    asks asks_;
    std::uint64_t next_stream_ = 1;
    std::string log_level_;
    std::unique_ptr<attachment> held_;
    aio::instant last_used_;
    aio::signal_flag ended_;
    bool ending_ = false;
    bool ends_for_all_ = true;
    records* kept_ = nullptr;
    records* ids_ = nullptr;
    state::fields record_;
    std::vector<tombstone> tombstones_;
    std::vector<wire::token> seen_; // the newest request ids, a ring when full
    std::size_t seen_next_ = 0;     // place of the oldest in it
};

} // namespace sluice::session
