#include "front/doorman.hpp"

#include "sys/log.hpp"

namespace sluice::front {

doorman::doorman(sys::meters& meters, aio::deadlines& deadlines, doorman_rules rules)
    : meters_(meters), rules_(rules),
      window_(deadlines.arm(aio::never, [this] { say_left_out(); })) {}

doorman::~doorman() {
    say_left_out();
}

void doorman::note(std::string_view listener, const net::turned_away& what) {
    meters_.refused(what.reason);
    if (!open_) {
        open_ = true;
        window_.move_to(aio::clock::now() + rules_.window);
    }
    if (written_ == rules_.lines) {
        ++left_out_;
        return;
    }
    ++written_;
    sys::log_line line(sys::log_level::info, "refused");
    line.field("status", what.status).field("reason", what.reason);
    if (!listener.empty()) line.field("listener", listener);
    line.field("peer", what.peer).field("text", what.text);
}

// The window ends.
void doorman::say_left_out() {
    open_ = false;
    written_ = 0;
    if (left_out_ == 0) return;
    sys::log_line(sys::log_level::info, "refused")
        .field("left_out", left_out_)
        .field("text", "more of the same, counted by sluice_requests_refused_total");
    left_out_ = 0;
}

} // namespace sluice::front
