// The half of session that has to do with other replicas: its record in the store, and the logs of
// its streams there. Decisions 2, 4 and 5.
#include "aio/within.hpp"
#include "session/session.hpp"
#include "sys/random.hpp"

#include <algorithm>

namespace sluice::session {

namespace {

// What a replica writes for each call that has become a stream.
std::string field_for(std::string_view kind, const wire::token& id) {
    std::string out(kind);
    // Equal ids have one spelling, and no control character.
    return out + (id.is_string() ? wire::quote(id.value()) : id.text());
}

} // namespace

void session::be_kept(records& in) {
    kept_ = &in;
    // Several replicas mint ids of questions in this session.
    asks_.mint_with([&in, key = who_.key](bool text) {
        if (text) return in.seal_ask(key);
        return std::to_string(sys::random_u64() & ((std::uint64_t(1) << 48U) - 1));
    });
}

std::string session::public_handle(std::string_view handle) const {
    bool sealed = ids_ != nullptr && !who_.key.empty();
    return sealed ? ids_->seal_handle(who_.key, handle) : std::string(handle);
}

std::optional<std::string> session::handle_in(std::string_view text) const {
    bool sealed = ids_ != nullptr && !who_.key.empty();
    if (!sealed) return std::string(text);
    return ids_->open_handle(who_.key, text);
}

aio::task<> session::write_in_record(state::fields values) {
    if (!is_kept()) co_return;
    auto key = records::record_key(who_.key);
    [[maybe_unused]] auto done = co_await kept_->store().set(std::move(key), std::move(values));
}

aio::task<> session::change_log_level(std::string level) {
    set_log_level(level);
    if (!is_kept()) co_return;
    state::fields values;
    values.emplace_back("level", level);
    co_await write_in_record(std::move(values));
    kept_->tell("level " + who_.key + " " + level);
}

std::shared_ptr<stream> session::open_copy(std::string handle) {
    if (is_crowded()) prune_streams();
    // It ends when the log says so.
    auto made = std::make_shared<stream>(get_executor(), handle, 0, bounds_, counters_);
    if (handle == standing_handle) standing_ = made;
    if (handle != standing_handle) made->be_behind_its_readers();
    streams_.insert_or_assign(std::move(handle), made);
    return made;
}

journal_place session::place_of_log(std::string_view handle) const {
    journal_place at;
    at.key = records::log_key(who_.key, handle);
    at.owner = kept_->replica();
    at.bounds.entries = bounds_.events_per_stream;
    at.bounds.bytes = bounds_.bytes_per_stream;
    at.ttl = bounds_.resume_window;
    at.dropped = &counters_.dropped;
    return at;
}

aio::task<> session::keep_stream(std::shared_ptr<stream> s) {
    if (!is_kept() || s->is_kept() || who_.one_stream) co_return;
    bool done = co_await try_to_keep(s);
    if (done || ending_) co_return;
    auto later = keep_later(shared_from_this(), s);
    calls_.spawn(std::move(later));
}

// Its host may come back to another replica once the store is there again.
aio::task<> session::keep_later(std::shared_ptr<session> self, std::weak_ptr<stream> which) {
    co_await aio::keep_running_when_cancelled();
    for (;;) {
        co_await aio::pause(std::chrono::milliseconds(250));
        auto s = which.lock();
        if (!s || self->ending_) co_return;
        auto listed = self->streams_.find(s->handle());
        if (listed == self->streams_.end() || listed->second != s) co_return;
        bool done = co_await self->try_to_keep(std::move(s));
        if (done) co_return;
    }
}

// False while the store is away.
aio::task<bool> session::try_to_keep(std::shared_ptr<stream> s) {
    kept_->holds_work(who_.key);
    auto at = place_of_log(s->handle());
    state::fields calls;
    std::string ids;
    for (const auto& [id, c] : listed_) {
        if (&c->out() != s.get()) continue;
        ids += (ids.empty() ? "" : ",") + id.text();
        calls.emplace_back(call_field(id), running_at(at.owner, s->handle()));
    }
    state::fields record;
    record.emplace_back("ids", "[" + ids + "]");
    auto log = make_journal(std::move(at));
    auto kept = co_await s->keep(std::move(log), std::move(record));
    if (!kept) {
        auto code = kept.error().code;
        co_return code != base::errc::unreachable&& code != base::errc::timeout;
    }
    if (calls.empty()) co_return true;
    auto key = records::record_key(who_.key);
    [[maybe_unused]] auto told = co_await kept_->store().set(std::move(key), calls);
    // Calls that ended meanwhile did not see that they were to be forgotten.
    for (auto& [field, owner] : calls) {
        bool runs = std::any_of(listed_.begin(), listed_.end(), [&](const auto& one) {
            return call_field(one.first) == field;
        });
        if (!runs) co_await forget_in_record(field);
    }
    co_return true;
}

std::string session::running_at(std::string_view replica, std::string_view handle) {
    return std::string(replica).append(" ").append(handle);
}

std::pair<std::string, std::string> session::where_it_runs(std::string_view value) {
    auto space = std::min(value.find(' '), value.size());
    auto handle = value.substr(std::min(space + 1, value.size()));
    return {std::string(value.substr(0, space)), std::string(handle)};
}

std::unique_ptr<journal> session::make_journal(journal_place at) {
    auto launch = [this](aio::task<> job) {
        if (!joined_) calls_.spawn(std::move(job));
    };
    return std::make_unique<journal>(
        std::move(launch), get_executor(), kept_->store(), std::move(at)
    );
}

void session::tell(std::string note) {
    if (!is_kept() || who_.one_stream) {
        standing().push_note(std::move(note));
        return;
    }
    ++counters_.notes;
    event e;
    e.bytes = std::move(note);
    standing_log().wrote(e, {});
}

journal& session::standing_log() {
    if (!standing_log_) {
        standing_log_ = make_journal(place_of_log(standing_handle));
        standing_log_->share();
    }
    return *standing_log_;
}

std::string session::call_field(const wire::token& host_id) {
    return field_for("call:", host_id);
}

std::string session::ask_field(const wire::token& ask_id) {
    return field_for("ask:", ask_id);
}

aio::task<base::result<state::fields>> session::read_record() {
    auto record = co_await kept_->store().read(records::record_key(who_.key));
    if (!record) co_return record.error();
    if (!*record) co_return base::fault(base::errc::not_found, "the session has ended");
    co_return std::move(**record);
}

aio::task<> session::forget_in_record(std::string field) {
    co_await aio::keep_running_when_cancelled();
    if (!is_kept()) co_return;
    auto key = records::record_key(who_.key);
    [[maybe_unused]] auto done = co_await kept_->store().unset(std::move(key), std::move(field));
}

} // namespace sluice::session
