#include "state/memory_table.hpp"

#include "sys/clock.hpp"

namespace sluice::state {

namespace {

std::size_t size_of(const std::string& value) {
    return value.size();
}
std::size_t size_of(const memory_record& record) {
    auto size = record.owner.size() + record.trimmable_bytes + record.kept_bytes;
    for (const auto& [name, value] : record.values)
        size += name.size() + value.size();
    return size;
}
std::size_t size_of(const memory_roster& roster) {
    std::size_t size = 0;
    for (const auto& [member, end] : roster)
        size += member.size() + sizeof end;
    return size;
}

} // namespace

void memory_record::set(fields from) {
    for (auto& [name, value] : from)
        values[std::move(name)] = std::move(value);
}

fields memory_record::all() const {
    return {values.begin(), values.end()};
}

void memory_record::add(log_entry from, const log_bounds& bounds) {
    auto position = from.position == 0 ? last + 1 : from.position;
    if (position <= last) return; // it stands there already
    last = position;
    bool kept = bounds.kept_kinds.find(from.kind) != std::string::npos;
    if (kept) {
        kept_bytes += from.bytes.size();
    } else {
        ++trimmable;
        trimmable_bytes += from.bytes.size();
    }
    entries.emplace(position, entry{from.kind, kept, std::move(from.bytes)});
}

void memory_record::trim(const log_bounds& bounds) {
    auto it = entries.begin();
    while (trimmable > bounds.entries || trimmable_bytes > bounds.bytes) {
        while (it->second.kept)
            ++it;
        if (it->first == last) return; // the newest stays, however large
        --trimmable;
        trimmable_bytes -= it->second.bytes.size();
        it = entries.erase(it);
    }
}

memory_table::cell* memory_table::find(const std::string& key) {
    auto it = index_.find(key);
    if (it == index_.end() || end_of(*it->second) <= sys::wall_ms()) return nullptr;
    return &*it->second;
}

memory_table::cell& memory_table::make(std::string key, milliseconds ttl) {
    drop(key);
    auto at = order_.insert(order_.end(), cell{key, {}, 0, {}});
    at->end = ends_.emplace(sys::wall_ms() + ttl.count(), at);
    index_[std::move(key)] = at;
    return *at;
}

void memory_table::changed(cell& what) {
    auto at = index_.at(what.key);
    auto cost =
        what.key.size() + std::visit([](const auto& held) { return size_of(held); }, what.what);
    bytes_ = bytes_ - what.cost + cost;
    what.cost = cost;
    order_.splice(order_.end(), order_, at);
    auto now = sys::wall_ms();
    while (!ends_.empty() && ends_.begin()->first <= now && ends_.begin()->second != at)
        remove(ends_.begin()->second);
    while ((order_.size() > bounds_.max_entries || bytes_ > bounds_.max_bytes) &&
           order_.begin() != at)
        remove(order_.begin());
}

void memory_table::set_end(cell& what, milliseconds ttl) {
    auto at = what.end->second;
    ends_.erase(what.end);
    what.end = ends_.emplace(sys::wall_ms() + ttl.count(), at);
}

bool memory_table::drop(const std::string& key) {
    auto it = index_.find(key);
    if (it == index_.end()) return false;
    bool lives = end_of(*it->second) > sys::wall_ms();
    remove(it->second);
    return lives;
}

void memory_table::remove(place at) {
    bytes_ -= at->cost;
    ends_.erase(at->end);
    index_.erase(at->key);
    order_.erase(at);
}

} // namespace sluice::state
