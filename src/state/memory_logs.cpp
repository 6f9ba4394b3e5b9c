#include "state/memory_look.hpp"

namespace sluice::state {

using base::result;

namespace {

base::fault gone() {
    return {base::errc::not_found, "the log is gone"};
}
base::fault fenced() {
    return {base::errc::fenced, "another owner has taken the log over"};
}

bool may_write(const memory_record& log, std::uint64_t epoch) {
    return epoch == anyone ? log.owner.empty() : log.epoch == epoch;
}

} // namespace

aio::task<result<std::uint64_t>>
memory_store::open_log(std::string key, std::string owner, fields record, milliseconds ttl) {
    if (table_.find(key) != nullptr)
        co_return base::fault(base::errc::conflict, "the log exists already");
    memory_record made;
    made.set(std::move(record));
    made.owner = std::move(owner);
    made.epoch = 1;
    auto& cell = table_.make(std::move(key), ttl);
    cell.what = std::move(made);
    table_.changed(cell);
    co_return 1;
}

result<memory_record*> memory_store::log_for(const log_append& what) {
    auto found = look<memory_record>(what.key);
    if (!found) return found;
    if (*found != nullptr) {
        if (!may_write(**found, what.epoch)) return fenced();
        return found;
    }
    if (what.epoch != anyone) return gone();
    auto& cell = table_.make(what.key, what.ttl.count() > 0 ? what.ttl : unsaid_ttl);
    auto& made = cell.what.emplace<memory_record>();
    made.epoch = 1;
    return &made;
}

result<std::uint64_t> memory_store::write(log_append what) {
    std::size_t bytes = 0;
    for (const auto& entry : what.entries)
        bytes += entry.bytes.size();
    auto fit = fits(bytes);
    if (!fit) return fit.error();
    auto found = log_for(what);
    if (!found) return found.error();
    auto& log = **found;
    for (auto& entry : what.entries)
        log.add(std::move(entry), what.bounds);
    log.trim(what.bounds);
    log.set(std::move(what.set));
    auto last = log.last;
    auto& cell = cell_of(what.key);
    if (what.ttl.count() > 0) table_.set_end(cell, what.ttl);
    table_.changed(cell);
    if (!what.channel.empty()) publish(std::move(what.channel), std::move(what.word));
    return last;
}

aio::task<result<std::uint64_t>> memory_store::append(log_append what) {
    co_return write(std::move(what));
}

aio::task<result<std::optional<log_page>>>
memory_store::read_log(std::string key, std::uint64_t after, std::size_t max_bytes) {
    auto found = look<memory_record>(key);
    if (!found) co_return found.error();
    if (*found == nullptr) co_return std::optional<log_page>();
    const auto& log = **found;
    log_page page{log.epoch, log.owner, log.last, log.all(), {}, false};
    std::size_t bytes = 0;
    for (auto it = log.entries.upper_bound(after); it != log.entries.end(); ++it) {
        bytes += it->second.bytes.size();
        if (!page.entries.empty() && bytes > max_bytes) {
            page.more = true;
            break;
        }
        page.entries.push_back({it->first, it->second.kind, it->second.bytes});
    }
    co_return std::optional(std::move(page));
}

aio::task<result<std::uint64_t>>
memory_store::adopt_log(std::string key, std::uint64_t epoch, std::string owner) {
    auto found = look<memory_record>(key);
    if (!found) co_return found.error();
    if (*found == nullptr) co_return gone();
    auto& log = **found;
    if (log.epoch != epoch) co_return fenced();
    log.owner = std::move(owner);
    auto now = ++log.epoch;
    table_.changed(cell_of(key));
    co_return now;
}

} // namespace sluice::state
