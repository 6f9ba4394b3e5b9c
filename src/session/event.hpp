// One thing that a host stream carries, and how a stream ends.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::session {

enum class event_kind : std::uint8_t {
    note,     // a notification of an upstream
    question, // a request of an upstream; never dropped unsent
    progress, // may be replaced by a newer one of the same call
    final,    // a call's one response
    pause,    // the upstream closed its stream on purpose; the host may come back after retry_ms
};

struct event {
    std::uint64_t position = 0; // 1, 2, …; 0 is the priming event
    event_kind kind = event_kind::note;
    std::string bytes;
    std::uint32_t retry_ms = 0; // pause only
    std::uint32_t call = 0;     // progress: which call of this stream
    int http_status = 0;        // final: the status it deserves when nothing was streamed; 0 = 200
};

// How a stream stopped without (all of) its finals.
enum class ending : std::uint8_t { none, finished, cancelled, session_ended };

} // namespace sluice::session
