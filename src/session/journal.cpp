#include "session/journal.hpp"

#include "base/text.hpp"

#include <boost/asio/post.hpp>

#include <utility>

namespace sluice::session {

namespace {

// By event_kind. Finals and questions are the kinds that a log keeps whatever its bounds.
constexpr std::string_view kinds = "nqpfz";
constexpr std::string_view more = "more";

} // namespace

state::log_entry entry_of(const event& e) {
    state::log_entry out;
    out.position = e.position;
    out.kind = kinds[static_cast<std::size_t>(e.kind)];
    out.bytes = e.kind == event_kind::pause ? std::to_string(e.retry_ms) : e.bytes;
    return out;
}

event event_of(state::log_entry entry) {
    event out;
    out.position = entry.position;
    auto kind = kinds.find(entry.kind);
    out.kind = kind == kinds.npos ? event_kind::note : static_cast<event_kind>(kind);
    if (out.kind == event_kind::pause) {
        out.retry_ms = static_cast<std::uint32_t>(base::parse_unsigned(entry.bytes).value_or(0));
    } else {
        out.bytes = std::move(entry.bytes);
    }
    return out;
}

std::string_view word_for(ending how) {
    switch (how) {
    case ending::none:
        return "";
    case ending::finished:
        return "finished";
    case ending::cancelled:
        return "cancelled";
    case ending::session_ended:
        return "session_ended";
    }
    return "";
}

ending ending_in(std::string_view word) {
    for (auto how : {ending::finished, ending::cancelled, ending::session_ended}) {
        if (word == word_for(how)) return how;
    }
    return ending::none;
}

journal::journal(aio::executor ex, state::store& store, journal_place at)
    : ex_(ex), store_(store), at_(std::move(at)), self_(std::make_shared<journal*>(this)) {}

journal::~journal() {
    flush();
    *self_ = nullptr;
}

aio::task<base::result<void>>
journal::open(const std::deque<event>& so_far, state::fields record, ending how) {
    if (how != ending::none) record.emplace_back(ended_field, word_for(how));
    for (const auto& e : so_far)
        pending_.entries.push_back(entry_of(e));
    auto made = co_await store_.open_log(at_.key, at_.owner, std::move(record), at_.ttl);
    // An attempt of before whose answer was lost: the handle is nobody else's.
    if (!made && made.error().code == base::errc::conflict)
        made = co_await store_.adopt_log(at_.key, 1, at_.owner);
    if (!made) co_return made.error();
    epoch_ = *made;
    bool there = co_await secure(aio::clock::now() + std::chrono::seconds(1));
    if (!there) co_return base::fault(base::errc::unreachable, "the store is away");
    co_return base::result<void>();
}

aio::task<base::result<void>> journal::take_over(std::uint64_t epoch) {
    auto taken = co_await store_.adopt_log(at_.key, epoch, at_.owner);
    if (!taken) co_return taken.error();
    epoch_ = *taken;
    co_return base::result<void>();
}

void journal::flush_soon() {
    if (std::exchange(flushing_, true)) return;
    aio::asio::post(ex_, [self = self_] {
        if (*self != nullptr) (*self)->flush();
    });
}

void journal::flush() {
    flushing_ = false;
    auto what = std::exchange(pending_, {});
    bool nothing = what.entries.empty() && what.set.empty();
    if (nothing || epoch_ == 0 || *fenced_) return;
    what.key = at_.key;
    what.epoch = epoch_;
    what.bounds = at_.bounds;
    what.ttl = at_.ttl;
    what.channel = at_.key;
    what.word = more;
    store_.post(std::move(what), [fenced = fenced_, told = told_](const base::fault& why) {
        if (why.code != base::errc::fenced || std::exchange(*fenced, true)) return;
        if (told->fenced) told->fenced();
    });
}

void journal::wrote(const event& e, state::fields with) {
    pending_.entries.push_back(entry_of(e));
    set(std::move(with));
}

void journal::set(state::fields record) {
    for (auto& fact : record) {
        std::erase_if(pending_.set, [&](const auto& old) { return old.first == fact.first; });
        pending_.set.push_back(std::move(fact));
    }
    flush_soon();
}

void journal::ended(ending how) {
    state::fields record;
    record.emplace_back(ended_field, word_for(how));
    set(std::move(record));
}

aio::task<bool> journal::secure(aio::instant until) {
    flush();
    auto settled = co_await store_.settle(until);
    co_return settled.ok() && !*fenced_;
}

} // namespace sluice::session
