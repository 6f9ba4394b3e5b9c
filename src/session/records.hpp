// What the store knows of host sessions, so that any replica can serve any of them: a record for
// each, written before `initialize` is answered. Keys and fields: docs/state.md. Without a shared
// store it only makes the sealed ids. Used by the registry (opening, adopting, ending) and by
// gateway (what calls and links leave in a session's record). Spec: "Session Management";
// decisions 2, 4, 7 and 21.
#pragma once

#include "aio/channel.hpp"
#include "aio/task.hpp"
#include "base/result.hpp"
#include "session/identity.hpp"
#include "session/settings.hpp"
#include "state/store.hpp"
#include "sys/seal.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::session {

// How long a record outlives the idle time of its session: within that a replica still finds it and
// can end it properly.
inline constexpr auto record_margin = std::chrono::minutes(2);
// Where replicas tell each other what happened to a session: "ended KEY", "level KEY LEVEL",
// "reader KEY HANDLE WHO".
inline constexpr std::string_view session_channel = "sessions";

class records {
public:
    // `ids` seals session and event ids; it may get its salt later. `replica` is this process.
    records(
        state::store& store,
        const sys::sealer& ids,
        const settings& bounds,
        std::function<std::string()> replica
    )
        : store_(store), ids_(ids), bounds_(bounds), replica_(std::move(replica)) {}

    bool shared() const { return store_.is_shared(); }
    state::store& store() { return store_; }
    const settings& bounds() const { return bounds_; }
    std::string replica() const { return replica_(); } // this process's id; it may change

    // Fills in `key` and `id`. errc::unreachable while there is no salt yet.
    base::result<void> mint(identity& who) const;
    // The key inside a session id; nothing for what no replica has issued.
    std::optional<std::string> key_in(std::string_view id) const;

    // errc::too_many at limits.sessions_per_key, over all replicas.
    aio::task<base::result<void>> create(identity who);
    // The session of that key that no replica has used for longest, when that is `least` or more;
    // of one whose record has gone only principal and key.
    aio::task<base::result<std::optional<identity>>>
    unused_longest(std::string principal, aio::duration least);
    // Nothing when there is no such session (any more).
    aio::task<base::result<std::optional<identity>>> find(std::string id);
    aio::task<base::result<std::optional<identity>>> find_by_key(std::string key);
    // For another idle time from now; false when it has ended.
    aio::task<base::result<bool>> keep(identity who);
    // Erases it and tells every replica. What it held; nothing when somebody else was quicker.
    aio::task<base::result<std::optional<state::fields>>> end(identity who);
    // Whether another replica has kept it since this one did, so long ago.
    aio::task<base::result<bool>> is_used_elsewhere(identity who, aio::duration since_kept);

    // `name` of the record; for what calls and links leave there.
    static std::string record_key(std::string_view key) { return "s:{" + std::string(key) + "}"; }
    static std::string log_key(std::string_view key, std::string_view handle) {
        return "l:{" + std::string(key) + "}:" + std::string(handle);
    }
    // Stands for a second after a `list_changed` was told to that session.
    static std::string quiet_key(std::string_view key, std::string_view method) {
        return "q:{" + std::string(key) + "}:" + std::string(method);
    }
    // The part of an event id that names a stream, sealed, and back.
    std::string seal_handle(std::string_view key, std::string_view handle) const;
    std::optional<std::string> open_handle(std::string_view key, std::string_view sealed) const;
    // An id for a question in that session, a JSON string.
    std::string seal_ask(std::string_view key) const;
    // Who is told of each session that has, or will have in a moment, something here that another
    // replica would have to take over.
    void tell_of_work(std::function<void(const std::string& key)> whom) {
        works_ = std::move(whom);
    }
    void holds_work(const std::string& key) const {
        if (works_) works_(key);
    }
    // Makes this replica the home of a session whose home `before` is dead; the log says so.
    aio::task<base::result<bool>> move_home(std::string id, std::string before);
    // Wakes `grown` when a replica has written more into that log.
    void follow(const std::string& log, aio::signal_flag& grown);
    void unfollow(const std::string& log, const aio::signal_flag& grown);
    void log_grew(std::string_view log);
    void all_grew();
    void tell(std::string word) { store_.publish(std::string(session_channel), std::move(word)); }

private:
    std::chrono::milliseconds lifetime() const { return bounds_.idle_ttl + record_margin; }

    state::store& store_;
    const sys::sealer& ids_;
    const settings& bounds_;
    std::function<std::string()> replica_;
    std::function<void(const std::string&)> works_;
    std::multimap<std::string, aio::signal_flag*, std::less<>> followed_; // by log
};

} // namespace sluice::session
