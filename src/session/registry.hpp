// The host sessions that this process serves: opening, finding (only for their own principal),
// taking up those that another replica opened, ending. Bounds: max_sessions and sessions_per_key.
// At its own bound a key's longest idle session makes room, for many hosts leave without DELETE;
// when none is idle opening fails with errc::too_many. Where records are shared the key's bound is
// over all replicas, and so is what counts as idle.
#pragma once

#include "aio/nursery.hpp"
#include "aio/task.hpp"
#include "base/result.hpp"
#include "session/records.hpp"
#include "session/session.hpp"
#include "session/settings.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice::session {

struct registry_counters {
    std::uint64_t adopted = 0; // sessions taken up from the store
    std::uint64_t ended_elsewhere = 0;
};

class registry {
public:
    // Gives all whose sessions may be in the store, with the names of their keys.
    using principals = std::function<std::map<std::string, std::string>()>;

    // Without `kept` (or where it is not shared) sessions live and die with this process.
    registry(aio::executor ex, settings bounds, records* kept = nullptr);

    // Makes the id, lists the session and starts its task. Where records are shared the caller
    // writes the record (records::create) before anybody hears of the id.
    base::result<std::shared_ptr<session>> open(identity who);
    // A session that no id leads to, for one request without one (decision 7). End it when done.
    base::result<std::shared_ptr<session>> open_throw_away(identity who);

    // After records::create said too_many: ends for all replicas the session of that key that none
    // has used for longest, if that is a minute. False when there is none such.
    aio::task<bool> make_room_in_store(std::string principal);

    // Null when unknown here, ended, in doubt, or another principal's.
    std::shared_ptr<session> find(std::string_view id, std::string_view principal);
    // The same, also of a session that may have ended elsewhere by now: for what concerns calls
    // that run here.
    std::shared_ptr<session> find_copy(std::string_view id, std::string_view principal) const;

    struct adopted {
        std::shared_ptr<session> here; // null when there is no such session …
        std::string home;              // … or when it lives on this replica and no other,
        bool one_stream = false;       // and dies with it
    };
    // What the store knows of a session that find() does not. errc::unreachable when the store is
    // away, errc::too_many when this process has as many as it may.
    aio::task<base::result<adopted>> adopt(std::string id, std::string principal);

    // Ends it for all replicas. errc::unreachable when the store is away; it has not ended then.
    aio::task<base::result<void>> end(std::shared_ptr<session> s);
    // The same, wherever it lives, if it does.
    aio::task<base::result<void>> end(identity who);
    // As the first, in the background, where nobody could do anything about a store that is away.
    void end_soon(std::shared_ptr<session> s);

    // Of whatever principal, for what is about a session and not from its host; also while it ends.
    std::shared_ptr<session> by_key(std::string_view key) const;

    // What the store's broadcast brought, and that some of it may have been missed.
    void heard(std::string_view channel, std::string_view word);
    void doubt_all();
    // That, and another replica may have become the home of sessions that live here: those that
    // have another home by their record end here.
    void look_at_homes();
    // Whether that may have happened, asked at each use of such a session.
    void doubt_homes_when(std::function<bool()> lost) { may_have_lost_homes_ = std::move(lost); }
    // What hangs on every session that is kept for all replicas, from its beginning: whoever ends
    // it ends what others have opened for it.
    void attach_to_each(std::function<std::unique_ptr<attachment>(session&)> make) {
        make_attachment_ = std::move(make);
    }
    // Keeps the records of sessions in use, and ends those idle for too long, of the principals
    // that `whose` gives also where no replica has a copy any more; runs until shut_down().
    void start_keeping(principals whose);

    // From now on, also for sessions that are open.
    void use(const settings& bounds) { bounds_ = bounds; }
    std::vector<std::shared_ptr<session>> all() const;
    std::size_t size() const { return sessions_.size(); }
    std::size_t streams_attached() const;
    std::size_t calls_under_way() const;
    const stream_counters& counters() const { return counters_; }
    const registry_counters& numbers() const { return numbers_; }
    const settings& bounds() const { return bounds_; }
    records* kept() const { return records_; }
    bool shared() const { return records_ != nullptr && records_->shared(); }

    // Ends every session of this process (those that are kept elsewhere go on there) and joins.
    aio::task<> shut_down();

private:
    // A session used less than this ago is somebody's; it is never ended to make room.
    static constexpr auto idle_enough = std::chrono::minutes(1);

    base::result<std::shared_ptr<session>> admit(identity who, std::string key);
    bool make_room_for(std::string_view principal);
    aio::task<bool> end_unused(std::string principal, aio::duration least);
    aio::task<> end_unwatched(std::string principal, aio::duration idle);
    bool let_a_copy_go();
    bool has_lost_home(const session& s, const identity& recorded) const;
    aio::task<> leave_lost_homes();
    aio::task<> run(std::shared_ptr<session> s, std::string key);
    bool is_past(const identity& who) const; // timeouts.session_max_age
    aio::task<> end_quietly(std::shared_ptr<session> s);
    aio::task<> keep_all(principals whose);
    aio::task<> keep_one(std::shared_ptr<session> s);

    settings bounds_;
    records* records_;
    stream_counters counters_;
    registry_counters numbers_;
    std::function<std::unique_ptr<attachment>(session&)> make_attachment_;
    std::function<bool()> may_have_lost_homes_;
    // By id; throw-away ones under a name that no header can hold.
    std::unordered_map<std::string, std::shared_ptr<session>> sessions_;
    std::unordered_map<std::string, std::weak_ptr<session>> by_key_;
    std::uint64_t next_throw_away_ = 1;
    std::map<std::string, std::size_t, std::less<>> per_key_;
    aio::nursery tasks_;
    aio::nursery chores_;
};

} // namespace sluice::session
