#include "gateway/resuming.hpp"

#include "aio/within.hpp"
#include "base/text.hpp"
#include "gateway/claims.hpp"
#include "gateway/orphans.hpp"
#include "gateway/replicas.hpp"
#include "session/tail.hpp"

namespace sluice::gateway {

namespace {

// How long a copy outlives its last reader: hosts come back soon, and often to the same replica.
constexpr auto linger = std::chrono::seconds(30);
constexpr auto look_every = std::chrono::seconds(1);

const std::string standing_handle(session::standing_handle);
const std::string standing_field = "standing"; // of the session's record

// Copies until the log ends or nobody reads the copy any more.
aio::task<> follow(
    [[maybe_unused]] std::shared_ptr<const void> under,
    house& in,
    std::shared_ptr<session::session> host,
    std::unique_ptr<session::tail> from,
    std::shared_ptr<session::stream> into
) {
    co_await aio::keep_running_when_cancelled();
    bool has_owner = into->handle() != session::standing_handle;
    while (!from->has_ended() && !host->is_ending()) {
        auto pulled = co_await from->pull(aio::clock::now() + look_every);
        if (!pulled && pulled.error().code == base::errc::not_found && has_owner) {
            into->end(session::ending::session_ended);
            break;
        }
        bool unread = !into->attached() && into->detached_at() + linger < aio::clock::now();
        if (unread) {
            host->drop_stream(*into);
            break;
        }
        if (!has_owner || from->has_ended()) continue;
        bool dead = co_await in.replicas.may_take_over(from->owner());
        if (!dead) continue;
        auto mine = co_await take_over_orphan(in, host, *from, into);
        if (mine) break;
    }
}

aio::task<base::result<std::shared_ptr<session::stream>>> open_copy(
    house& in, std::shared_ptr<session::session> host, std::string handle, std::uint64_t position
) {
    auto key = session::records::log_key(host->who().key, handle);
    auto from =
        std::make_unique<session::tail>(host->get_executor(), *host->kept(), std::move(key));
    auto into = host->open_copy(handle);
    auto found = co_await from->begin(into, position);
    bool standing = handle == session::standing_handle;
    if (!found || (!*found && !standing)) {
        host->drop_stream(*into);
        if (!found) co_return found.error();
        co_return base::fault(base::errc::not_found, "no such stream");
    }
    ++in.numbers.replays;
    if (!from->has_ended()) {
        auto job = follow(in.hold(), in, host, std::move(from), into);
        host->spawn(std::move(job));
    }
    co_return into;
}

} // namespace

aio::task<base::result<std::shared_ptr<session::stream>>>
open_rest(house& in, std::shared_ptr<session::session> host, std::string handle) {
    auto here = host->find_stream(handle);
    if (here && !here->is_fenced()) co_return here;
    if (here) host->drop_stream(*here);
    if (!host->is_kept()) co_return base::fault(base::errc::not_found, "no such stream");
    // All of it: a host may come back to this copy from an earlier place than the one it names now.
    auto copy = co_await open_copy(in, std::move(host), std::move(handle), 0);
    bool none = !copy && copy.error().code == base::errc::not_found;
    // The replica that has it may not have written it down yet.
    if (none && !in.replicas.store_is_settled())
        co_return base::fault(base::errc::unreachable, "the store has just come back");
    co_return copy;
}

namespace {

// Holds the session's place for one that opens the standing stream here; awaits lie between looking
// and taking.
class opening {
public:
    explicit opening(session::session& host) : host_(host) { host_.opens_standing = true; }
    opening(const opening&) = delete;
    opening& operator=(const opening&) = delete;
    ~opening() { host_.opens_standing = false; }

private:
    session::session& host_;
};

} // namespace

aio::task<base::result<std::shared_ptr<session::stream>>>
open_standing(house& in, std::shared_ptr<session::session> host, bool by_id) {
    base::fault taken(base::errc::conflict, "this session has an open GET stream already");
    auto local = host->find_stream(session::standing_handle);
    if (host->opens_standing || (!by_id && local && local->attached())) co_return taken;
    if (!host->is_kept()) {
        host->standing();
        co_return host->find_stream(session::standing_handle);
    }
    opening now(*host);
    // Back with an event id: the connection it had is gone, wherever that is noticed last.
    auto claimed = co_await claim(in, *host, standing_field, by_id);
    if (!claimed) co_return claimed.error();
    if (!claimed->mine) co_return taken;
    local = host->find_stream(session::standing_handle);
    if (local) co_return local;
    auto log = session::records::log_key(host->who().key, session::standing_handle);
    auto read = co_await host->kept()->store().read_field(std::move(log), "read");
    auto position = read && *read ? base::parse_unsigned(**read).value_or(0) : 0;
    if (by_id) position = 0; // the host says where it stands, perhaps further back
    auto copy = co_await open_copy(in, host, standing_handle, position);
    if (!copy) unclaim(in, *host, standing_field);
    co_return copy;
}

void leave_standing(const grounds& in, const std::shared_ptr<session::session>& host) {
    if (!host->is_kept()) return;
    auto local = host->find_stream(session::standing_handle);
    if (local && !host->is_ending()) {
        state::fields read;
        read.emplace_back("read", std::to_string(local->next_unsent() - 1));
        host->standing_log().set(std::move(read));
    }
    // Another GET may have it here by now.
    if (host->opens_standing || (local && local->attached())) return;
    unclaim(in, *host, standing_field);
}

void announce_reader(const session::session& host, std::string_view handle, bool reads) {
    if (!host.is_kept()) return;
    std::string word = reads ? "reader " : "left ";
    word.append(host.who().key).append(" ").append(handle).append(" ");
    host.kept()->tell(word + host.kept()->replica());
}

} // namespace sluice::gateway
