#include "session/event_log.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <random>
#include <string>

using namespace sluice::session;

namespace {

event numbered(std::uint64_t position) {
    event e;
    e.position = position;
    e.bytes = "the text of event " + std::to_string(position);
    return e;
}

bool same(event_log& log, const std::deque<event>& wanted) {
    if (log.size() != wanted.size() || log.empty() != wanted.empty()) return false;
    std::size_t at = 0;
    for (auto& e : log) {
        if (&e != &log[at] || e.bytes != wanted[at].bytes) return false;
        if (e.position != wanted[at++].position) return false;
    }
    return wanted.empty() || log.back().position == wanted.back().position;
}

} // namespace

TEST_CASE("a log of events keeps what was not erased, in order, wherever it is erased") {
    std::mt19937 random(20240607);
    // More leave than come, and the other way round.
    for (unsigned leave_of_ten : {3U, 5U, 8U}) {
        event_log log;
        std::deque<event> wanted;
        for (std::uint64_t turn = 1; turn <= 2000; ++turn) {
            bool leaves = random() % 10 < leave_of_ten && !wanted.empty();
            if (leaves) {
                // Mostly at the front, as in a stream.
                std::size_t index = random() % 4 != 0 ? 0 : random() % wanted.size();
                log.erase(index);
                wanted.erase(wanted.begin() + static_cast<std::ptrdiff_t>(index));
            } else {
                log.push_back(numbered(turn));
                wanted.push_back(numbered(turn));
            }
            REQUIRE(same(log, wanted));
        }
    }
}
