#include "session/records.hpp"

#include "session/record_names.hpp"
#include "sys/log.hpp"
#include "sys/random.hpp"

namespace sluice::session {

namespace {

base::fault no_salt_yet() {
    return {
        base::errc::unreachable,
        "the gateway's store is away, and with it the key that seals session ids; try again"
    };
}

void log_new_home(const std::string& before, const std::string& now) {
    sys::log_line(sys::log_level::warn, "session")
        .field("home", now)
        .field("before", before)
        .field(
            "text",
            "its replica is gone: here its local processes and HTTP+SSE upstreams start anew"
        );
}

std::string field_of(const state::fields& record, std::string_view name) {
    for (const auto& [field, value] : record) {
        if (field == name) return value;
    }
    return {};
}

} // namespace

base::result<void> records::mint(identity& who) const {
    if (!ids_.can_seal()) return no_salt_yet();
    who.key = sys::random_id();
    who.id = ids_.seal(sys::purpose::session, who.key);
    return {};
}

std::optional<std::string> records::key_in(std::string_view id) const {
    auto plain = ids_.open(sys::purpose::session, id);
    if (!plain) return std::nullopt;
    return std::move(*plain);
}

std::string records::seal_handle(std::string_view key, std::string_view handle) const {
    std::string plain(key);
    plain.append("\n").append(handle);
    return ids_.seal(sys::purpose::event, plain);
}

std::optional<std::string>
records::open_handle(std::string_view key, std::string_view sealed) const {
    auto plain = ids_.open(sys::purpose::event, sealed);
    if (!plain) return std::nullopt;
    std::string_view text = *plain;
    bool ours = text.size() > key.size() && text.starts_with(key) && text[key.size()] == '\n';
    if (!ours) return std::nullopt;
    return std::string(text.substr(key.size() + 1));
}

std::string records::seal_ask(std::string_view key) const {
    std::string plain(key);
    plain.append("\n").append(sys::random_id(8));
    return "\"" + ids_.seal(sys::purpose::ask, plain) + "\"";
}

aio::task<base::result<bool>> records::move_home(std::string id, std::string before) {
    auto key = key_in(id);
    if (!key) co_return false;
    auto moved = co_await store_.set_if(record_key(*key), "home", before, replica());
    if (moved && *moved) log_new_home(before, replica());
    co_return moved;
}

aio::task<base::result<void>> records::create(identity who) {
    if (!shared()) co_return base::result<void>();
    auto listed = co_await store_.enlist(
        roster_of(who.principal), who.key, lifetime(), bounds_.sessions_per_key
    );
    if (!listed) co_return listed.error();
    if (!*listed) {
        co_return base::fault(
            base::errc::too_many,
            "this key has " + std::to_string(bounds_.sessions_per_key) +
                " sessions, its limit (limits.sessions_per_key); end some with DELETE",
            429
        );
    }
    state::fields record;
    record.emplace_back(who_field, write_identity(who));
    if (!who.home.empty()) record.emplace_back("home", who.home);
    auto made = co_await store_.create(record_key(who.key), std::move(record), lifetime());
    if (!made) co_return made.error();
    co_return base::result<void>();
}

aio::task<base::result<std::optional<identity>>>
records::unused_longest(std::string principal, aio::duration least) {
    auto all = co_await store_.members(roster_of(principal));
    if (!all) co_return all.error();
    if (all->empty()) co_return std::optional<identity>();
    identity who;
    who.principal = std::move(principal);
    who.key = std::move(all->front()); // every use moves a session to the end
    auto left = co_await store_.time_left(record_key(who.key));
    if (!left) co_return left.error();
    if (*left && lifetime() - **left < least) co_return std::optional<identity>();
    auto known = co_await find_by_key(who.key);
    if (known && !*known) *known = std::move(who);
    co_return known;
}

aio::task<base::result<std::optional<identity>>> records::find(std::string id) {
    auto key = key_in(id);
    if (!key || !shared()) co_return std::optional<identity>();
    auto found = co_await find_by_key(std::move(*key));
    if (found && *found && (*found)->id != id) co_return std::optional<identity>();
    co_return found;
}

aio::task<base::result<std::optional<identity>>> records::find_by_key(std::string key) {
    auto record = co_await store_.read(record_key(key));
    if (!record) co_return record.error();
    if (!*record) co_return std::optional<identity>();
    auto who = read_identity(field_of(**record, who_field));
    // Not of our writing: nobody can be served by it.
    if (!who) co_return std::optional<identity>();
    who->key = std::move(key);
    who->home = field_of(**record, "home");
    who->log_level = field_of(**record, "level");
    co_return std::optional(std::move(*who));
}

aio::task<base::result<bool>> records::keep(identity who) {
    auto kept = co_await store_.keep(record_key(who.key), lifetime());
    if (!kept || !*kept) co_return kept;
    auto listed = co_await store_.enlist(roster_of(who.principal), who.key, lifetime(), 0);
    if (!listed) co_return listed.error();
    co_return kept;
}

aio::task<base::result<std::optional<state::fields>>> records::end(identity who) {
    auto key = record_key(who.key);
    auto held = co_await store_.read(key);
    if (!held) co_return held.error();
    auto gone = co_await store_.erase(std::move(key));
    if (!gone) co_return gone.error();
    // Else it leaves by itself when its time is over.
    [[maybe_unused]] auto left = co_await store_.leave(roster_of(who.principal), who.key);
    // Last: this replica hears it too, and must know by then who ends the session.
    tell("ended " + who.key);
    if (!*gone) co_return std::optional<state::fields>();
    co_return std::move(*held);
}

aio::task<base::result<bool>> records::is_used_elsewhere(identity who, aio::duration since_kept) {
    constexpr auto slack = std::chrono::seconds(1);
    auto left = co_await store_.time_left(record_key(who.key));
    if (!left) co_return left.error();
    co_return *left && **left > lifetime() - since_kept + slack;
}

void records::follow(const std::string& log, aio::signal_flag& grown) {
    if (!followed_.contains(log)) store_.listen(log);
    followed_.emplace(log, &grown);
}

void records::unfollow(const std::string& log, const aio::signal_flag& grown) {
    auto [first, last] = followed_.equal_range(log);
    for (auto it = first; it != last; ++it) {
        if (it->second != &grown) continue;
        followed_.erase(it);
        break;
    }
    if (!followed_.contains(log)) store_.unlisten(log);
}

void records::all_grew() {
    for (auto& [log, grown] : followed_)
        grown->wake();
}

void records::log_grew(std::string_view log) {
    auto [first, last] = followed_.equal_range(log);
    for (auto it = first; it != last; ++it)
        it->second->wake();
}

} // namespace sluice::session
