#include "gateway/changes.hpp"

#include "aio/within.hpp"
#include "sys/random.hpp"

#include <utility>

namespace sluice::gateway {

namespace {

constexpr auto quiet_time = std::chrono::seconds(1); // between two of one kind
constexpr auto look_again = std::chrono::milliseconds(250);

} // namespace

bool is_list_change(const wire::message& note) {
    return note.method_is("notifications/tools/list_changed") ||
           note.method_is("notifications/prompts/list_changed") ||
           note.method_is("notifications/resources/list_changed");
}

void changes::tell(std::string method, std::string note) {
    if (chores_.stopping()) return;
    auto& s = storms_[method];
    bool alone = !host_.is_kept();
    auto now = aio::clock::now();
    if (!alone || s.waiting || now < s.quiet_until)
        return keep_for_later(s, std::move(method), std::move(note));
    s.quiet_until = now + quiet_time;
    host_.tell(std::move(note));
}

aio::task<>
changes::tell_in(std::shared_ptr<session::stream> call, std::string method, std::string note) {
    auto& s = storms_[method];
    bool free = !s.waiting && aio::clock::now() >= s.quiet_until;
    if (free) {
        s.quiet_until = aio::clock::now() + quiet_time;
        s.before.clear();
        auto whose = co_await take_turn(method);
        free = whose == turn::ours && !s.waiting;
    }
    if (free) {
        call->push_note(std::move(note));
    } else {
        keep_for_later(s, std::move(method), std::move(note));
    }
}

void changes::keep_for_later(storm& s, std::string method, std::string note) {
    if (chores_.stopping()) return;
    s.latest = std::move(note);
    ++s.come;
    s.before.clear();
    if (std::exchange(s.waiting, true)) return;
    chores_.spawn(tell_later(std::move(method)));
}

aio::task<> changes::tell_later(std::string method) {
    co_await aio::keep_running_when_cancelled();
    auto& s = storms_[method];
    auto whose = turn::not_yet;
    while (whose == turn::not_yet && !chores_.stopping()) {
        auto rest = s.quiet_until - aio::clock::now();
        if (rest > aio::duration::zero()) co_await aio::pause(rest);
        whose = co_await take_turn(method);
        if (whose == turn::not_yet) s.quiet_until = aio::clock::now() + look_again;
    }
    s.waiting = false;
    if (whose != turn::ours) co_return;
    s.quiet_until = aio::clock::now() + quiet_time;
    host_.tell(std::move(s.latest));
}

// Among the replicas; whoever has no store to ask has it.
aio::task<changes::turn> changes::take_turn(std::string method) {
    if (!host_.is_kept()) co_return turn::ours;
    auto& s = storms_[method];
    auto come = s.come;
    auto key = session::records::quiet_key(host_.who().key, method);
    auto told =
        co_await host_.kept()->store().put_new(std::move(key), sys::random_id(), quiet_time);
    if (!told || !*told) co_return turn::ours;
    if (s.come != come) co_return turn::not_yet; // what was seen is from before the newest
    auto& last = **told;
    // Another told its own after ours had come: a host that has asked since has seen ours as well.
    if (!s.before.empty() && s.before != last) co_return turn::told_since;
    s.before = std::move(last);
    co_return turn::not_yet;
}

} // namespace sluice::gateway
