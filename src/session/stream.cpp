#include "session/stream.hpp"

#include <algorithm>

namespace sluice::session {

namespace {

bool is_kept(const event& e) {
    return e.kind == event_kind::final || e.kind == event_kind::question;
}

}  // namespace

stream::stream(
    aio::executor ex, std::string handle, std::size_t finals, const settings& bounds,
    stream_counters& counters
)
    : handle_(std::move(handle)),
      finals_left_(finals),
      bounds_(bounds),
      counters_(counters),
      last_event_at_(aio::clock::now()),
      detached_at_(last_event_at_),
      readable_(ex),
      detached_(ex) {}

stream::~stream() { counters_.bytes -= bytes_; }

void stream::push_note(std::string bytes) {
    push({0, event_kind::note, std::move(bytes), 0, 0, 0});
    ++counters_.notes;
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

void stream::push_pause(std::uint32_t retry_ms) { push({0, event_kind::pause, {}, retry_ms, 0, 0}); }

void stream::forgo_final() {
    if (finals_left_ > 0 && --finals_left_ == 0) end(ending::finished);
}

void stream::end(ending how) {
    if (done()) return;
    ended_ = how;
    readable_.wake();
}

void stream::push(event e) {
    if (done()) return;
    e.position = next_position_++;
    bytes_ += e.bytes.size();
    counters_.bytes += e.bytes.size();
    log_.push_back(std::move(e));
    last_event_at_ = aio::clock::now();
    if (over_bounds()) trim();
    readable_.wake();
}

bool stream::over_bounds() const {
    return log_.size() > bounds_.events_per_stream || bytes_ > bounds_.bytes_per_stream;
}

std::size_t stream::first_unsent() const {
    auto it = std::lower_bound(log_.begin(), log_.end(), reader_, [](const event& e, std::uint64_t p) {
        return e.position < p;
    });
    return static_cast<std::size_t>(it - log_.begin());
}

void stream::drop_at(std::size_t index) {
    bytes_ -= log_[index].bytes.size();
    counters_.bytes -= log_[index].bytes.size();
    log_.erase(log_.begin() + static_cast<std::ptrdiff_t>(index));
}

void stream::trim() {
    // Finals and questions stay for resume whatever the ring's bounds; they are few and bounded by themselves.
    while (over_bounds() && first_unsent() > 0 && !is_kept(log_.front())) drop_at(0);
    std::size_t unsent = first_unsent();
    auto newest = log_.size() - 1;
    if (over_bounds() && log_[newest].kind == event_kind::progress) {
        // The reader may be looking at the first unsent event, but never across an await.
        for (std::size_t i = newest; i-- > unsent;) {
            if (log_[i].kind != event_kind::progress || log_[i].call != log_[newest].call) continue;
            drop_at(i);
            ++counters_.coalesced;
            break;
        }
    }
    while (over_bounds()) {
        auto victim = std::find_if(
            log_.begin() + static_cast<std::ptrdiff_t>(unsent), log_.end() - 1,
            [](const event& e) { return e.kind == event_kind::note || e.kind == event_kind::progress; }
        );
        if (victim == log_.end() - 1) return;
        ++(victim->kind == event_kind::progress ? counters_.coalesced : counters_.dropped);
        drop_at(static_cast<std::size_t>(victim - log_.begin()));
    }
}

aio::task<base::result<const event*>> stream::next(aio::instant until) {
    for (;;) {
        if (reader_closed_) co_return base::fault(base::errc::closed, "the host's connection is gone");
        auto index = first_unsent();
        if (index < log_.size()) {
            reader_ = log_[index].position + 1;
            co_return &log_[index];
        }
        if (done()) co_return nullptr;
        bool woken = co_await readable_.wait(until);
        if (!woken && first_unsent() >= log_.size() && !done() && !reader_closed_) {
            co_return base::fault(base::errc::timeout, "nothing came in time");
        }
    }
}

bool stream::attach(std::uint64_t after_position) {
    if (attached_) return false;
    attached_ = true;
    reader_closed_ = false;
    reader_ = std::min(after_position + 1, next_position_);
    return true;
}

void stream::detach() {
    attached_ = false;
    detached_at_ = aio::clock::now();
    detached_.wake();
}

aio::task<> stream::wait_detached(aio::instant until) {
    while (attached_) {
        bool woken = co_await detached_.wait(until);
        if (!woken) co_return;
    }
}

void stream::close_reader() {
    reader_closed_ = true;
    readable_.wake();
}

std::string stream::take(const event& e) {
    auto index = static_cast<std::size_t>(
        std::find_if(log_.begin(), log_.end(), [&](const event& x) { return &x == &e; }) - log_.begin()
    );
    std::string bytes = std::move(log_[index].bytes);
    bytes_ -= bytes.size();
    counters_.bytes -= bytes.size();
    log_[index].bytes.clear();
    return bytes;
}

void stream::forget() {
    counters_.bytes -= bytes_;
    bytes_ = 0;
    log_.clear();
}

}  // namespace sluice::session
