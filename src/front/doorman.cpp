#include "front/doorman.hpp"

#include "base/text.hpp"
#include "sys/log.hpp"

#include <array>

namespace sluice::front {

namespace {

void write(const turned_away& what) {
    sys::log_line line(sys::log_level::info, "refused");
    line.field("status", what.status).field("reason", what.reason);
    const std::array<std::pair<std::string_view, std::string>, 6> rest{{
        {"listener", std::string(what.listener)},
        {"method", base::clip(what.method, 16)},
        {"endpoint", base::clip(what.endpoint)},
        {"key", std::string(what.key)},
        {"peer", std::string(what.peer)},
        {"text", base::clip(what.text)},
    }};
    for (const auto& [name, value] : rest) {
        if (!value.empty()) line.field(name, value);
    }
}

} // namespace

doorman::doorman(sys::meters& meters, aio::deadlines& deadlines, doorman_rules rules)
    : meters_(meters), rules_(rules),
      window_(deadlines.arm(aio::never, [this] { say_left_out(); })) {}

doorman::~doorman() {
    say_left_out();
}

void doorman::note(const turned_away& what) {
    meters_.refused(what.reason);
    if (tallies_.empty()) window_.move_to(aio::clock::now() + rules_.window);
    auto& so_far = tallies_[{std::string(what.reason), std::string(what.key)}];
    if (so_far.written == rules_.lines) {
        ++so_far.left_out;
        return;
    }
    ++so_far.written;
    write(what);
}

void doorman::note(std::string_view listener, const net::turned_away& what) {
    turned_away seen;
    seen.status = what.status;
    seen.reason = what.reason;
    seen.listener = listener;
    seen.peer = what.peer;
    seen.text = what.text;
    note(seen);
}

// The window ends.
void doorman::say_left_out() {
    for (const auto& [which, so_far] : tallies_) {
        if (so_far.left_out == 0) continue;
        sys::log_line line(sys::log_level::info, "refused");
        line.field("left_out", so_far.left_out).field("reason", which.first);
        if (!which.second.empty()) line.field("key", which.second);
        line.field("text", "more of the same, counted by sluice_requests_refused_total");
    }
    tallies_.clear();
}

} // namespace sluice::front
