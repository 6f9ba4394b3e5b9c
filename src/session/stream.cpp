#include "session/stream.hpp"

#include "aio/within.hpp"
#include "mcp/errors.hpp"
#include "session/session.hpp"
#include "wire/message.hpp"

#include <algorithm>
#include <utility>

namespace sluice::session {

namespace {

// How many events of progress may be on their way to the store.
constexpr std::uint64_t most_behind = 1024;

std::string error_instead_of(std::string final_bytes) {
    auto size = std::to_string(final_bytes.size());
    auto parsed = wire::parse_message(std::move(final_bytes));
    bool named = parsed && parsed->id.present();
    return wire::make_error(
        named ? parsed->view(parsed->id) : std::string_view("null"),
        mcp::code_internal,
        "this response of " + size + " bytes was not kept for resume (limits.resume_result)"
    );
}

} // namespace

stream::stream(
    aio::executor ex,
    std::string handle,
    std::size_t finals,
    const settings& bounds,
    stream_counters& counters
)
    : handle_(std::move(handle)), finals_left_(finals), bounds_(bounds), counters_(counters),
      last_event_at_(aio::clock::now()), detached_at_(last_event_at_), readable_(ex) {}

stream::~stream() {
    if (journal_) journal_->on_fenced({});
    counters_.bytes -= bytes_ + taken_bytes_;
}

void stream::push_note(std::string bytes) {
    if (!done()) ++counters_.notes;
    push({0, event_kind::note, std::move(bytes), 0, 0, 0});
}

void stream::push_question(std::string bytes) {
    push({0, event_kind::question, std::move(bytes), 0, 0, 0});
}

void stream::push_progress(std::string bytes, std::uint32_t call) {
    push({0, event_kind::progress, std::move(bytes), 0, call, 0});
}

void stream::push_final(std::string bytes, int http_status) {
    push({0, event_kind::final, std::move(bytes), 0, 0, http_status});
    forgo_final();
}

void stream::push_pause(std::uint32_t retry_ms) {
    // Of pauses that follow each other unsent only the newest says anything.
    bool again = first_unsent() < log_.size() && log_.back().kind == event_kind::pause;
    if (again && !done()) drop_at(log_.size() - 1);
    push({0, event_kind::pause, {}, retry_ms, 0, 0});
}

void stream::forgo_final() {
    if (finals_left_ == 0) return;
    --finals_left_;
    if (finals_left_ == 0) end(ending::finished);
}

void stream::end(ending how) {
    if (done()) return;
    ended_ = how;
    last_event_at_ = aio::clock::now();
    if (journal_) journal_->ended(how);
    readable_.wake();
}

void stream::push(event e) {
    if (done()) return;
    e.position = next_position_++;
    if (journal_) journal_->wrote(e, std::exchange(notes_, {}));
    if (opening_) unkept_.push_back(e);
    add(std::move(e));
}

void stream::push_copy(event e) {
    if (done() || e.position < next_position_) return;
    // What left the log before it was read here. A copy from the log's beginning may well find that
    // its host has read what is gone.
    bool behind = handle_ == standing_handle && next_position_ > 1;
    if (behind) counters_.dropped += e.position - next_position_;
    next_position_ = e.position + 1;
    add(std::move(e));
}

void stream::begin_anew() {
    forget();
    next_position_ = 1;
    reader_ = 1;
}

void stream::add(event e) {
    count(e, 1);
    log_.push_back(std::move(e));
    if (over_bounds()) trim();
    readable_.wake();
}

void stream::count(const event& e, std::ptrdiff_t sign) {
    auto bytes = static_cast<std::size_t>(sign * static_cast<std::ptrdiff_t>(e.bytes.size()));
    bytes_ += bytes;
    counters_.bytes += bytes;
    if (e.kind == event_kind::final) return;
    ring_bytes_ += bytes;
    ring_events_ += static_cast<std::size_t>(sign);
}

bool stream::over_bounds() const {
    return ring_events_ > bounds_.events_per_stream || ring_bytes_ > bounds_.bytes_per_stream;
}

std::size_t stream::first_unsent() const {
    auto it =
        std::lower_bound(log_.begin(), log_.end(), reader_, [](const event& e, std::uint64_t p) {
            return e.position < p;
        });
    return static_cast<std::size_t>(it - log_.begin());
}

void stream::drop_at(std::size_t index) {
    count(log_[index], -1);
    log_.erase(index);
}

// The reader may be looking at the event it took last, but never across an await.
void stream::trim() {
    drop_sent(false);
    drop_sent(true);
    if (over_bounds() && log_.back().kind == event_kind::progress) coalesce_newest();
    drop_unsent();
}

void stream::drop_sent(bool questions) {
    for (std::size_t i = 0; over_bounds() && i < first_unsent();) {
        bool stays = log_[i].kind == event_kind::final ||
                     (log_[i].kind == event_kind::question && !questions);
        if (stays) {
            ++i;
        } else {
            drop_at(i);
        }
    }
}

void stream::coalesce_newest() {
    auto unsent = first_unsent();
    auto newest = log_.size() - 1;
    for (std::size_t i = newest; i-- > unsent;) {
        if (log_[i].kind != event_kind::progress || log_[i].call != log_[newest].call) continue;
        drop_at(i);
        ++counters_.coalesced;
        return;
    }
}

void stream::drop_unsent() {
    for (std::size_t i = first_unsent(); over_bounds() && i + 1 < log_.size();) {
        if (log_[i].kind == event_kind::final || log_[i].kind == event_kind::question) {
            ++i;
            continue;
        }
        ++(log_[i].kind == event_kind::progress ? counters_.coalesced : counters_.dropped);
        drop_at(i);
    }
}

void stream::note(std::string name, std::string value) {
    std::erase_if(notes_, [&](const auto& one) { return one.first == name; });
    notes_.emplace_back(std::move(name), std::move(value));
}

void stream::flush_notes() {
    if (journal_ && !done()) journal_->set(std::exchange(notes_, {}));
}

aio::task<base::result<void>> stream::keep(std::unique_ptr<journal> in, state::fields record) {
    for (auto& one : std::exchange(notes_, {}))
        record.push_back(std::move(one));
    std::vector<event> so_far(log_.begin(), log_.end());
    auto how = ended_;
    opening_ = true;
    auto made = co_await in->open(so_far, std::move(record), how);
    opening_ = false;
    auto meanwhile = std::exchange(unkept_, {});
    if (!made) co_return made;
    keep_on(std::move(in));
    for (auto& e : meanwhile)
        journal_->wrote(e, std::exchange(notes_, {}));
    if (ended_ != how) journal_->ended(ended_);
    co_return made;
}

void stream::keep_on(std::unique_ptr<journal> taken_over) {
    journal_ = std::move(taken_over);
    journal_->on_fenced([this] { close_reader(); });
    // What the dead owner sent and did not store is not coming: its places are given anew.
    may_be_behind_ = false;
    reader_ = std::min(reader_, next_position_);
}

aio::task<bool> stream::secure(aio::instant until) {
    if (!journal_) co_return true;
    if (!journal_->is_fenced()) [[maybe_unused]]
        bool there = co_await journal_->secure(until);
    co_return !journal_->is_fenced();
}

void stream::read_elsewhere(bool now) {
    elsewhere_ = now;
    if (now) {
        close_reader();
    } else if (!attached_) {
        detached_at_ = aio::clock::now();
    }
}

aio::task<base::result<const event*>> stream::next(aio::instant until) {
    for (;;) {
        if (reader_closed_)
            co_return base::fault(base::errc::closed, "the host's connection is gone");
        const auto* ready = try_next();
        if (ready != nullptr) co_return ready;
        if (done()) co_return nullptr;
        bool woken = co_await readable_.wait(until);
        if (!woken && first_unsent() >= log_.size() && !done() && !reader_closed_) {
            co_return aio::nothing_came(until);
        }
    }
}

const event* stream::try_next() {
    if (fully_read()) return nullptr;
    auto index = first_unsent();
    if (index >= log_.size()) return nullptr;
    reader_ = log_[index].position + 1;
    return &log_[index];
}

bool stream::attach(std::uint64_t after_position) {
    if (attached_) return false;
    attached_ = true;
    reader_closed_ = false;
    // A position ahead of the log means "from the end", also the largest there is.
    bool coming = may_be_behind_ && !done() && after_position < next_position_ + most_behind;
    bool known = after_position < next_position_ || coming;
    reader_ = known ? after_position + 1 : next_position_;
    return true;
}

void stream::detach() {
    attached_ = false;
    counters_.bytes -= std::exchange(taken_bytes_, 0);
    detached_at_ = aio::clock::now();
    if (done() && fully_read()) shed_large_finals();
}

aio::task<> stream::wait_detached(aio::instant until) {
    // Naps, not a flag: several may wait, rarely and not for long.
    while (attached_ && aio::clock::now() < until)
        co_await aio::pause(std::chrono::milliseconds(5));
}

void stream::close_reader() {
    reader_closed_ = true;
    readable_.wake();
}

std::string stream::take(const event& e) {
    auto it =
        std::lower_bound(log_.begin(), log_.end(), e.position, [](const event& x, std::uint64_t p) {
            return x.position < p;
        });
    count(*it, -1);
    std::string bytes = std::move(it->bytes);
    it->bytes.clear();
    count(*it, 1);
    taken_bytes_ += bytes.size();
    counters_.bytes += bytes.size();
    return bytes;
}

void stream::forget() {
    while (!log_.empty())
        drop_at(log_.size() - 1);
}

void stream::forget_sent() {
    for (auto sent = first_unsent(); sent > 0; --sent)
        drop_at(0);
}

void stream::shed_large_finals() {
    for (auto& e : log_) {
        if (e.kind != event_kind::final || e.bytes.size() <= bounds_.resume_result_max) continue;
        count(e, -1);
        e.bytes = error_instead_of(std::move(e.bytes));
        count(e, 1);
    }
}

} // namespace sluice::session
