#include "session/session.hpp"

#include "aio/within.hpp"
#include "mcp/errors.hpp"
#include "sys/random.hpp"
#include "wire/message.hpp"

#include <algorithm>

namespace sluice::session {

namespace {

// Finished streams kept for resume, per session: enough for a host that lost its connection with
// several calls open, little enough that a busy session cannot fill the memory.
constexpr std::size_t finished_kept = 16;

// How long interrupted calls have when their session ends.
constexpr auto farewell = std::chrono::seconds(5);

// Cancels of requests not seen yet, and ids seen, that are remembered: the two may cross on the
// way.
constexpr auto tombstone_life = std::chrono::seconds(5);
constexpr std::size_t remembered = 64;

std::string ended_early(const wire::token& id) {
    return wire::make_error(
        id.text(),
        mcp::code_internal,
        "the session ended before the upstream answered; whether the call took effect is unknown"
    );
}

} // namespace

void call::cancel(std::string reason_json) {
    if (cancelled_) return;
    cancelled_ = true;
    reason_ = std::move(reason_json);
    for (auto& interrupt : interrupts_)
        interrupt();
}

call::watch::watch(call& of, std::function<void()> interrupt)
    : of_(of), it_(of.interrupts_.insert(of.interrupts_.end(), std::move(interrupt))) {}

session::session(aio::executor ex, identity who, const settings& bounds, stream_counters& counters)
    : who_(std::move(who)), bounds_(bounds), counters_(counters), calls_(ex, "session"), asks_(ex),
      log_level_(who_.log_level), last_used_(aio::clock::now()), ended_(ex) {
    last_kept = last_used_;
}

void session::introduce(mcp::revision revision, std::string capabilities, std::string client_info) {
    who_.revision = revision;
    who_.capabilities = std::move(capabilities);
    who_.client_info = std::move(client_info);
    introduced_ = true;
}

std::shared_ptr<stream> session::open_stream(std::size_t finals) {
    if (is_crowded()) prune_streams();
    // Replicas must not give two streams of one session one handle.
    auto handle = is_kept() ? sys::random_id(6) : std::to_string(next_stream_++);
    auto made = std::make_shared<stream>(get_executor(), handle, finals, bounds_, counters_);
    streams_.emplace(std::move(handle), made);
    return made;
}

stream& session::standing() {
    if (!standing_) {
        std::string handle(standing_handle);
        standing_ = std::make_shared<stream>(get_executor(), handle, 0, bounds_, counters_);
        streams_.emplace(std::move(handle), standing_);
    }
    return *standing_;
}

std::shared_ptr<stream> session::find_stream(std::string_view handle) {
    prune_streams();
    auto it = streams_.find(handle);
    return it == streams_.end() ? nullptr : it->second;
}

void session::drop_stream(const stream& s) {
    auto it = streams_.find(s.handle());
    if (it != streams_.end() && it->second.get() == &s) streams_.erase(it);
}

// Not at every call: most streams are dropped as soon as their one answer has left.
bool session::is_crowded() const {
    if (streams_.size() > finished_kept + finished_kept / 2) return true;
    std::size_t bytes = 0;
    for (const auto& [handle, s] : streams_)
        bytes += s->kept_bytes();
    return bytes > finished_bytes();
}

std::size_t session::finished_bytes() const {
    return 2 * (bounds_.bytes_per_stream + bounds_.resume_result_max);
}

void session::prune_streams() {
    auto oldest = aio::clock::now() - bounds_.resume_window;
    std::size_t finished = 0;
    std::size_t bytes = 0;
    std::vector<std::shared_ptr<stream>> done;
    for (auto& [handle, s] : streams_) {
        if (!s->done() || s->attached()) continue;
        if (s->kept_bytes() > bounds_.resume_result_max) s->shed_large_finals();
        done.push_back(s);
    }
    std::sort(done.begin(), done.end(), [](const auto& a, const auto& b) {
        return a->last_event_at() > b->last_event_at();
    });
    for (auto& s : done) {
        ++finished;
        bytes += s->kept_bytes();
        bool keep =
            finished <= finished_kept && s->last_event_at() > oldest && bytes <= finished_bytes();
        if (!keep) drop_stream(*s);
    }
}

base::result<std::shared_ptr<call>>
session::begin_call(wire::token host_id, std::shared_ptr<stream> out, std::uint32_t number) {
    if (ending_) return base::fault(base::errc::closed, "the session is ending");
    if (listed_.size() >= bounds_.calls_per_session) {
        return base::fault(
            base::errc::too_many,
            "the session has " + std::to_string(listed_.size()) +
                " calls under way, its limit (limits.calls_per_session); wait for one to end"
        );
    }
    auto made = std::make_shared<call>(std::move(host_id), std::move(out), number);
    listed_.emplace(made->host_id(), made);
    remember_seen(made->host_id());
    if (auto reason = take_tombstone(made->host_id())) {
        made->out().forgo_final();
        made->cancel(std::move(*reason));
    }
    return made;
}

void session::end_call(const call& c) {
    auto [first, last] = listed_.equal_range(c.host_id());
    for (auto it = first; it != last; ++it) {
        if (it->second.get() != &c) continue;
        if (is_kept() && c.out().is_kept()) calls_.spawn(forget_in_record(call_field(c.host_id())));
        listed_.erase(it);
        return;
    }
}

void session::cancel(const wire::token& host_id, const std::string& reason_json) {
    auto [first, last] = listed_.equal_range(host_id);
    std::vector<std::shared_ptr<call>> found;
    for (auto it = first; it != last; ++it)
        found.push_back(it->second);
    if (found.empty() && std::find(seen_.begin(), seen_.end(), host_id) == seen_.end()) {
        if (tombstones_.size() >= remembered) tombstones_.erase(tombstones_.begin());
        tombstones_.push_back({host_id, reason_json, aio::clock::now() + tombstone_life});
        return;
    }
    for (auto& c : found) {
        if (c->is_cancelled()) continue; // its response is forgone already
        // Its open questions are withdrawn; then its stream ends, whatever the upstream takes.
        c->cancel(reason_json);
        c->out().forgo_final();
    }
}

void session::remember_seen(const wire::token& host_id) {
    if (seen_.size() < remembered) {
        seen_.push_back(host_id);
        return;
    }
    seen_[seen_next_] = host_id;
    seen_next_ = (seen_next_ + 1) % remembered;
}

std::optional<std::string> session::take_tombstone(const wire::token& host_id) {
    while (!tombstones_.empty() && tombstones_.front().until < aio::clock::now())
        tombstones_.erase(tombstones_.begin());
    auto it = std::find_if(tombstones_.begin(), tombstones_.end(), [&](const auto& t) {
        return t.host_id == host_id;
    });
    if (it == tombstones_.end()) return std::nullopt;
    auto reason = std::move(it->reason);
    tombstones_.erase(it);
    return reason;
}

bool session::is_busy() const {
    return !listed_.empty() || attached_streams() > 0;
}

bool session::holds_work() const {
    return who_.one_stream || std::any_of(streams_.begin(), streams_.end(), [](const auto& s) {
               return s.second->is_kept() && !s.second->done() && !s.second->is_fenced();
           });
}

std::size_t session::attached_streams() const {
    auto attached = std::count_if(streams_.begin(), streams_.end(), [](const auto& s) {
        return s.second->attached();
    });
    return static_cast<std::size_t>(attached);
}

aio::task<> session::live() {
    co_await aio::keep_running_when_cancelled();
    while (!ending_) {
        // Also to let go of finished streams whose time to be resumed is over.
        auto until =
            std::min(last_used_ + bounds_.idle_ttl, aio::clock::now() + bounds_.resume_window / 2);
        if (kept_ != nullptr) until = aio::clock::now() + bounds_.resume_window / 2;
        bool ages = kept_ == nullptr && bounds_.max_age.count() > 0;
        if (ages) until = std::min<aio::instant>(until, aio::clock::now() + bounds_.max_age / 8);
        bool woken = co_await ended_.wait(until);
        if (woken || ending_) break;
        auto state = co_await aio::asio::this_coro::cancellation_state;
        if (state.cancelled() != aio::asio::cancellation_type::none) break;
        prune_streams();
        for (auto& [handle, s] : streams_)
            s->keep_log_alive();
        if (ages && is_older(who_, bounds_.max_age)) break;
        if (is_busy()) touch();
        if (kept_ == nullptr && aio::clock::now() >= last_used_ + bounds_.idle_ttl) break;
    }
    ending_ = true;
    asks_.drop_all();
    for (auto& [id, c] : listed_) {
        if (c->is_cancelled()) continue;
        c->out().push_final(ended_early(c->host_id()));
        c->cancel({});
    }
    for (auto& [handle, s] : streams_)
        s->end(ending::session_ended);
    // Interrupted calls say goodbye to their upstreams; one that is still connecting is cut off.
    auto patience = aio::clock::now() + farewell;
    while (calls_.size() > 0 && aio::clock::now() < patience)
        co_await aio::pause(std::chrono::milliseconds(10));
    calls_.stop();
    co_await calls_.join();
    joined_ = true;
    if (held_) co_await held_->close(ends_for_all_, std::move(record_));
}

void session::end(state::fields record) {
    if (!ending_) record_ = std::move(record);
    ending_ = true;
    ended_.wake();
}

void session::end_here() {
    if (!ending_) ends_for_all_ = false;
    ending_ = true;
    ended_.wake();
}

} // namespace sluice::session
