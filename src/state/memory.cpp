#include "state/memory_look.hpp"
#include "sys/clock.hpp"

#include <boost/asio/post.hpp>

namespace sluice::state {

using base::result;
using maybe_text = std::optional<std::string>;

result<void> memory_store::fits(std::size_t bytes) const {
    if (bytes <= table_.max_bytes()) return {};
    return base::fault(base::errc::too_large, "the value is larger than the memory store");
}

// --- values ---

aio::task<result<void>> memory_store::put(std::string key, std::string value, milliseconds ttl) {
    auto fit = fits(value.size());
    if (!fit) co_return fit;
    auto& cell = table_.make(std::move(key), ttl);
    cell.what = std::move(value);
    table_.changed(cell);
    co_return result<void>();
}

aio::task<result<maybe_text>> memory_store::get(std::string key) {
    auto found = look<std::string>(key);
    if (!found) co_return found.error();
    if (*found == nullptr) co_return maybe_text();
    co_return maybe_text(**found);
}

aio::task<result<maybe_text>>
memory_store::put_new(std::string key, std::string value, milliseconds ttl) {
    auto found = look<std::string>(key);
    if (!found) co_return found.error();
    if (*found != nullptr) co_return maybe_text(**found);
    auto done = co_await put(std::move(key), std::move(value), ttl);
    if (!done) co_return done.error();
    co_return maybe_text();
}

aio::task<result<bool>>
memory_store::replace(std::string key, std::string expected, std::string value, milliseconds ttl) {
    auto found = look<std::string>(key);
    if (!found) co_return found.error();
    if (*found == nullptr || **found != expected) co_return false;
    auto done = co_await put(std::move(key), std::move(value), ttl);
    if (!done) co_return done.error();
    co_return true;
}

// --- all kinds ---

aio::task<result<bool>> memory_store::erase(std::string key) {
    co_return table_.drop(key);
}

aio::task<result<bool>> memory_store::keep(std::string key, milliseconds ttl) {
    auto* cell = table_.find(key);
    if (cell == nullptr) co_return false;
    table_.set_end(*cell, ttl);
    table_.changed(*cell);
    co_return true;
}

aio::task<result<std::optional<milliseconds>>> memory_store::time_left(std::string key) {
    auto* cell = table_.find(key);
    if (cell == nullptr) co_return std::optional<milliseconds>();
    co_return std::optional(milliseconds(table_.end_of(*cell) - sys::wall_ms()));
}

// --- records ---

aio::task<result<bool>> memory_store::create(std::string key, fields values, milliseconds ttl) {
    if (table_.find(key) != nullptr) co_return false;
    memory_record made;
    made.set(std::move(values));
    auto& cell = table_.make(std::move(key), ttl);
    cell.what = std::move(made);
    table_.changed(cell);
    co_return true;
}

aio::task<result<std::optional<fields>>> memory_store::read(std::string key) {
    auto found = look<memory_record>(key);
    if (!found) co_return found.error();
    if (*found == nullptr) co_return std::optional<fields>();
    co_return std::optional((*found)->all());
}

aio::task<result<maybe_text>> memory_store::read_field(std::string key, std::string field) {
    auto found = look<memory_record>(key);
    if (!found) co_return found.error();
    if (*found == nullptr) co_return maybe_text();
    auto it = (*found)->values.find(field);
    if (it == (*found)->values.end()) co_return maybe_text();
    co_return maybe_text(it->second);
}

aio::task<result<bool>> memory_store::set(std::string key, fields values) {
    auto found = look<memory_record>(key);
    if (!found) co_return found.error();
    if (*found == nullptr) co_return false;
    (*found)->set(std::move(values));
    table_.changed(cell_of(key));
    co_return true;
}

aio::task<result<maybe_text>>
memory_store::set_new(std::string key, std::string field, std::string value) {
    auto found = look<memory_record>(key);
    if (!found) co_return found.error();
    if (*found == nullptr) co_return base::fault(base::errc::not_found, "no such record");
    auto [it, fresh] = (*found)->values.emplace(std::move(field), std::move(value));
    if (!fresh) co_return maybe_text(it->second);
    table_.changed(cell_of(key));
    co_return maybe_text();
}

aio::task<result<bool>>
memory_store::set_if(std::string key, std::string field, std::string expected, std::string value) {
    auto found = look<memory_record>(key);
    if (!found) co_return found.error();
    if (*found == nullptr) co_return false;
    auto& values = (*found)->values;
    auto it = values.find(field);
    if (it == values.end() || it->second != expected) co_return false;
    if (value.empty()) {
        values.erase(it);
    } else {
        it->second = std::move(value);
    }
    table_.changed(cell_of(key));
    co_return true;
}

aio::task<result<bool>> memory_store::unset(std::string key, std::string field) {
    auto found = look<memory_record>(key);
    if (!found) co_return found.error();
    if (*found == nullptr || (*found)->values.erase(field) == 0) co_return false;
    table_.changed(cell_of(key));
    co_return true;
}

// --- rosters ---

aio::task<result<bool>>
memory_store::enlist(std::string roster, std::string member, milliseconds ttl, std::size_t cap) {
    auto found = look<memory_roster>(roster);
    if (!found) co_return found.error();
    if (*found == nullptr) table_.make(roster, ttl).what = memory_roster();
    auto& cell = cell_of(roster);
    auto& members = std::get<memory_roster>(cell.what);
    auto now = sys::wall_ms();
    std::erase_if(members, [&](const auto& m) { return m.second <= now; });
    bool room = cap == 0 || members.contains(member) || members.size() < cap;
    auto end = now + ttl.count();
    if (room) members[std::move(member)] = end;
    if (room && end > table_.end_of(cell)) table_.set_end(cell, ttl);
    table_.changed(cell);
    co_return room;
}

aio::task<result<bool>> memory_store::leave(std::string roster, std::string member) {
    auto found = look<memory_roster>(roster);
    if (!found) co_return found.error();
    if (*found == nullptr) co_return false;
    auto it = (*found)->find(member);
    if (it == (*found)->end()) co_return false;
    bool was_there = it->second > sys::wall_ms();
    (*found)->erase(it);
    table_.changed(cell_of(roster));
    co_return was_there;
}

aio::task<result<std::vector<std::string>>> memory_store::members(std::string roster) {
    auto found = look<memory_roster>(roster);
    if (!found) co_return found.error();
    std::vector<std::string> names;
    if (*found == nullptr) co_return names;
    std::vector<std::pair<std::int64_t, std::string>> present;
    for (const auto& [member, end] : **found) {
        if (end > sys::wall_ms()) present.emplace_back(end, member);
    }
    std::sort(present.begin(), present.end());
    for (auto& [end, member] : present)
        names.push_back(std::move(member));
    co_return names;
}

// --- broadcast ---

void memory_store::on_word(hearer words, std::function<void()>) {
    hearers_.push_back(std::move(words)); // nothing is ever missed here
}

void memory_store::unlisten(std::string channel) {
    auto it = channels_.find(channel);
    if (it != channels_.end() && --it->second == 0) channels_.erase(it);
}

void memory_store::deliver(const std::string& channel, const std::string& word) {
    if (!channels_.contains(channel)) return;
    for (const auto& hear : hearers_)
        hear(channel, word);
}

void memory_store::publish(std::string channel, std::string word) {
    auto tell = [this,
                 alive = std::weak_ptr(alive_),
                 channel = std::move(channel),
                 word = std::move(word)] {
        if (alive.lock()) deliver(channel, word);
    };
    boost::asio::post(loop_, std::move(tell));
}

std::unique_ptr<store> make_memory_store(aio::loop& loop, memory_bounds bounds, bool shared) {
    return std::make_unique<memory_store>(loop, bounds, shared);
}

} // namespace sluice::state
