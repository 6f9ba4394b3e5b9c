// A host's session: one co_await task that owns its calls and its streams, and outlives any
// connection. Made by the registry; used by gateway (which runs calls in it) and front (which reads
// its streams). Spec: Streamable HTTP, "Session Management"; decisions 6, 7, 9.
#pragma once

#include "aio/nursery.hpp"
#include "aio/task.hpp"
#include "base/result.hpp"
#include "mcp/revision.hpp"
#include "session/asks.hpp"
#include "session/settings.hpp"
#include "session/stream.hpp"
#include "wire/token.hpp"

#include <cstdint>
#include <deque>
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

// What was fixed when the session was opened.
struct identity {
    std::string id;        // empty for a throw-away session
    std::string principal; // name of the key; "" = open
    std::string scope;     // canonical path of the endpoint, e.g. "/mcp/a,b"
    mcp::revision revision = mcp::latest_legacy;
    std::string capabilities; // the host's, verbatim JSON
    std::string client_info;  // verbatim JSON
    // HTTP+SSE: opened by a GET before anybody said `initialize`, and it ends with that one stream.
    bool one_stream = false;
};

// One request of the host under way. Owned by the gateway's coroutine and listed here so that a
// cancel finds it.
class call {
public:
    call(wire::token host_id, std::shared_ptr<stream> out, std::uint32_t number)
        : host_id_(std::move(host_id)), out_(std::move(out)), number_(number) {}

    const wire::token& host_id() const { return host_id_; }
    stream& out() { return *out_; }
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
    // Ends what it holds at the upstreams; bounded in time.
    virtual aio::task<> close() = 0;
};

class session {
public:
    session(aio::executor ex, identity who, const settings& bounds, stream_counters& counters);

    const identity& who() const { return who_; }
    // What `initialize` says of the host, where the session was opened before it came. Once.
    void introduce(mcp::revision revision, std::string capabilities, std::string client_info);
    // False when somebody has begun already.
    bool begin_introduction() { return !std::exchange(introducing_, true); }
    bool is_introduced() const { return !who_.one_stream || introduced_; }
    aio::executor get_executor() const { return calls_.get_executor(); }

    // Opens a stream for `finals` responses and lists it for resume.
    std::shared_ptr<stream> open_stream(std::size_t finals);
    // The standing stream for what belongs to no call; a GET attaches to it.
    stream& standing();
    bool has_standing() const { return standing_ != nullptr; }
    // By the handle in an event id; null when it was dropped or never was.
    std::shared_ptr<stream> find_stream(std::string_view handle);
    // Forgets a stream that nobody can or need resume.
    void drop_stream(const stream& s);

    // errc::too_many over calls_per_session.
    base::result<std::shared_ptr<call>>
    begin_call(wire::token host_id, std::shared_ptr<stream> out, std::uint32_t number);
    void end_call(const call& c);
    void cancel(const wire::token& host_id, const std::string& reason_json);
    std::size_t calls_under_way() const { return listed_.size(); }

    // Questions of upstreams that wait for this host.
    asks& questions() { return asks_; }

    // Runs a coroutine of one of its calls; joined before the session is gone.
    void spawn(aio::task<> work) { calls_.spawn(std::move(work)); }

    void set_log_level(std::string level) { log_level_ = std::move(level); }
    const std::string& log_level() const { return log_level_; }

    void attach(std::unique_ptr<attachment> held) { held_ = std::move(held); }
    attachment* held() const { return held_.get(); }

    void touch() { last_used_ = aio::clock::now(); }
    aio::instant last_used() const { return last_used_; }
    bool is_busy() const; // a call under way or a stream attached
    std::size_t attached_streams() const;
    // GETs that read a stream now; front counts them.
    std::size_t gets = 0;
    bool is_ending() const { return ending_; }

    // The session's task: lives until end() or until it has been idle for its TTL, then cancels its
    // calls, ends its streams, joins, and closes what the gateway hung on it.
    aio::task<> live();
    void end();

private:
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
    asks asks_;
    std::uint64_t next_stream_ = 1;
    std::string log_level_;
    std::unique_ptr<attachment> held_;
    aio::instant last_used_;
    aio::signal_flag ended_;
    bool ending_ = false;
    std::deque<tombstone> tombstones_;
    std::deque<wire::token> seen_; // the newest request ids
};

} // namespace sluice::session
