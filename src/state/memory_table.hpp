// What the memory engine holds: cells under keys, each with an end, within bounds of number and
// bytes. Time is sys::wall_ms(). Internal to state.
#pragma once

#include "state/store.hpp"

#include <cstdint>
#include <list>
#include <map>
#include <unordered_map>
#include <variant>

namespace sluice::state {

struct memory_record {
    std::map<std::string, std::string> values;
    // The rest is a log's; of a plain record epoch stays 0.
    std::uint64_t epoch = 0;
    std::string owner;
    std::uint64_t last = 0;
    struct entry {
        char kind;
        bool kept;
        std::string bytes;
    };
    std::map<std::uint64_t, entry> entries;
    std::size_t trimmable = 0;       // entries that are not kept …
    std::size_t trimmable_bytes = 0; // … and their bytes
    std::size_t kept_bytes = 0;

    void set(fields from);
    fields all() const;
    void add(log_entry from, const log_bounds& bounds);
    void trim(const log_bounds& bounds);
};

using memory_roster = std::map<std::string, std::int64_t>; // member → its end

class memory_table {
public:
    struct cell;
    using place = std::list<cell>::iterator;
    struct cell {
        std::string key;
        std::variant<std::string, memory_record, memory_roster> what;
        std::size_t cost = 0;
        std::multimap<std::int64_t, place>::iterator end;
    };

    explicit memory_table(memory_bounds bounds) : bounds_(bounds) {}

    std::size_t max_bytes() const { return bounds_.max_bytes; }
    // Null when there is none, or its time is over.
    cell* find(const std::string& key);
    // Replaces what stands there.
    cell& make(std::string key, milliseconds ttl);
    // After every change of a cell: it counts anew and is the youngest; older ones may leave.
    void changed(cell& what);
    void set_end(cell& what, milliseconds ttl);
    static std::int64_t end_of(const cell& what) { return what.end->first; }
    bool drop(const std::string& key);

private:
    void remove(place at);

    memory_bounds bounds_;
    std::list<cell> order_; // oldest first
    std::unordered_map<std::string, place> index_;
    std::multimap<std::int64_t, place> ends_;
    std::size_t bytes_ = 0;
};

} // namespace sluice::state
