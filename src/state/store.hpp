// Facts that outlive a request or a replica, under keys that each have a time to live. Engines:
// memory (default, bounded, one replica) and redis (shared by all replicas); both pass one contract
// test (tests/unit/state). Keys and their fields are listed in docs/state.md. A part of a key in
// braces, "s:{id}", keeps all keys with that part on one node of a cluster.
//
// Every task ends within the engine's own deadline. Faults: errc::unreachable when the store is
// away (nothing is known of whether a write took place), errc::too_large for a value over the
// engine's bound; the others are said where they may come.
#pragma once

#include "aio/task.hpp"
#include "base/result.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::state {

using milliseconds = std::chrono::milliseconds;
using fields = std::vector<std::pair<std::string, std::string>>;

// A log is a record that also holds numbered entries, written by one owner at a time (its epoch
// says which; every append is conditional on it), or by anybody (epoch `anyone`).
inline constexpr std::uint64_t anyone = 0;

struct log_entry {
    std::uint64_t position = 0; // 0 = the next one, given by the store
    char kind = 'n';            // the writer's word; entries of a kept kind are never trimmed
    std::string bytes;
};

struct log_bounds {
    std::size_t entries = 1'000; // over these the oldest entries leave, never the newest …
    std::size_t bytes = 1024 * 1024;
    std::string kept_kinds = "fq"; // … but never those, which count towards no bound
};

// The life of a log that an append makes without saying one.
inline constexpr milliseconds unsaid_ttl = std::chrono::hours(1);

struct log_append {
    std::string key;
    std::uint64_t epoch = anyone;
    std::vector<log_entry> entries; // positions rise; may be empty; one that is not after the
                                    // newest stands there already and is passed over
    fields set;                     // of the record, in the same step
    log_bounds bounds;
    milliseconds ttl{0}; // 0 leaves the log's end as it is
    std::string channel; // told after the append, when not empty …
    std::string word;    // … this
};

struct log_page {
    std::uint64_t epoch = 0;
    std::string owner;
    std::uint64_t last = 0; // position of the newest entry ever written
    fields record;          // the rest of the record
    std::vector<log_entry> entries;
    bool more = false; // entries after these exist
};

struct health {
    bool up = true;
    aio::instant since{}; // of that state
};

class store {
public:
    virtual ~store() = default;

    // Whether other replicas see the same facts.
    virtual bool is_shared() const = 0;
    virtual health how() const = 0;

    // --- values ---
    virtual aio::task<base::result<void>>
    put(std::string key, std::string value, milliseconds ttl) = 0;
    // Nothing when the key was never put, ran out, or was evicted.
    virtual aio::task<base::result<std::optional<std::string>>> get(std::string key) = 0;
    // Nothing when it was put; else the value that stands there already.
    virtual aio::task<base::result<std::optional<std::string>>>
    put_new(std::string key, std::string value, milliseconds ttl) = 0;
    // Only where `expected` stands; false when it does not.
    virtual aio::task<base::result<bool>>
    replace(std::string key, std::string expected, std::string value, milliseconds ttl) = 0;

    // --- values, records and logs ---
    // Whether there was one.
    virtual aio::task<base::result<bool>> erase(std::string key) = 0;
    // A new time to live; false when there is none.
    virtual aio::task<base::result<bool>> keep(std::string key, milliseconds ttl) = 0;
    // What is left of its time; nothing when there is none.
    virtual aio::task<base::result<std::optional<milliseconds>>> time_left(std::string key) = 0;

    // --- records: named fields under one key ---
    // False when it exists already (and nothing was written).
    virtual aio::task<base::result<bool>>
    create(std::string key, fields values, milliseconds ttl) = 0;
    virtual aio::task<base::result<std::optional<fields>>> read(std::string key) = 0;
    // Nothing when the record or the field is not there.
    virtual aio::task<base::result<std::optional<std::string>>>
    read_field(std::string key, std::string field) = 0;
    // False when there is no such record: a write never revives one that has ended.
    virtual aio::task<base::result<bool>> set(std::string key, fields values) = 0;
    // Nothing when it was set, else the value that stands; errc::not_found without the record.
    virtual aio::task<base::result<std::optional<std::string>>>
    set_new(std::string key, std::string field, std::string value) = 0;
    // Only where `expected` stands; an empty `value` removes the field. False when it does not.
    virtual aio::task<base::result<bool>>
    set_if(std::string key, std::string field, std::string expected, std::string value) = 0;
    virtual aio::task<base::result<bool>> unset(std::string key, std::string field) = 0;

    // --- logs ---
    // Makes one and returns its first epoch, 1; with owner "" it is anyone's. errc::conflict when
    // it exists.
    virtual aio::task<base::result<std::uint64_t>>
    open_log(std::string key, std::string owner, fields record, milliseconds ttl) = 0;
    // errc::fenced when another epoch stands (with `anyone`: when somebody owns it),
    // errc::not_found when the log is gone. With `anyone` a missing log is made. Returns the
    // position of its newest entry.
    virtual aio::task<base::result<std::uint64_t>> append(log_append what) = 0;
    // Entries after `after`, oldest first, up to about `max_bytes` (at least one); nothing when the
    // log is gone.
    virtual aio::task<base::result<std::optional<log_page>>>
    read_log(std::string key, std::uint64_t after, std::size_t max_bytes) = 0;
    // Takes it over from the owner of `epoch`; returns the new epoch. errc::fenced when another has
    // been quicker, errc::not_found when it is gone.
    virtual aio::task<base::result<std::uint64_t>>
    adopt_log(std::string key, std::uint64_t epoch, std::string owner) = 0;

    // --- rosters: members that leave by themselves when their time is over ---
    // A member that is on it gets the new time. False when `cap` others are on it (0 = no cap).
    virtual aio::task<base::result<bool>>
    enlist(std::string roster, std::string member, milliseconds ttl, std::size_t cap) = 0;
    virtual aio::task<base::result<bool>> leave(std::string roster, std::string member) = 0;
    // Those that leave first stand first.
    virtual aio::task<base::result<std::vector<std::string>>> members(std::string roster) = 0;

    // --- broadcast: at most once, to every replica that listens, this one too ---
    using hearer = std::function<void(std::string_view channel, std::string_view word)>;
    virtual void publish(std::string channel, std::string word) = 0;
    // One hearer for all channels and one for gaps: words may have been missed (the subscription
    // was made anew). Both are called from the loop, never from inside another call. Set once; of
    // a shared memory store once by each that shares it. A channel is heard until unlisten() was
    // called as often as listen().
    virtual void on_word(hearer words, std::function<void()> gap) = 0;
    // Of what a read that follows it on this store did not see, the word comes, or a gap.
    virtual void listen(std::string channel) = 0;
    virtual void unlisten(std::string channel) = 0;

    // Connects, where there is something to connect to; and its end, joined.
    virtual void start() = 0;
    virtual aio::task<> shut_down() = 0;
};

struct memory_bounds {
    std::size_t max_entries = 100'000;
    std::size_t max_bytes = 64 * 1024 * 1024;
};

// Over its bounds the oldest keys go first. `shared` is for tests that let several gateways of one
// process share it.
std::unique_ptr<store>
make_memory_store(aio::loop& loop, memory_bounds bounds = {}, bool shared = false);

} // namespace sluice::state
