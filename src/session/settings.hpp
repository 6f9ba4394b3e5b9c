// Bounds of a host's session: how long it lives idle, how many calls and streams it has, and what
// is kept of each stream for resume.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace sluice::session {

// What happens to a request without a session id (decision 7).
enum class sessionless : std::uint8_t { serve, refuse };

struct settings {
    std::chrono::milliseconds idle_ttl{std::chrono::hours(8)}; // no request, call or stream
    std::chrono::milliseconds max_age{0}; // from its opening, also when in use; 0 = any
    std::size_t max_sessions = 10'000;
    std::size_t sessions_per_key = 1'000; // the open principal counts as one key
    std::size_t calls_per_session = 64;   // under way at once
    std::size_t streams_per_session = 16; // GET streams open at once

    std::size_t events_per_stream = 1'000;
    std::size_t bytes_per_stream = 1024 * 1024;
    std::chrono::milliseconds resume_window{std::chrono::minutes(10)}; // after the last event
    // By then a call that has not been answered is a stream: the record says where it runs.
    std::chrono::milliseconds stream_after{50};
    // How long a question waits for its host to come back to a stream that can carry it.
    std::chrono::milliseconds ask_resume_grace{30'000};
    // A final response above this is delivered but not kept for resume.
    std::size_t resume_result_max = 4 * 1024 * 1024;

    sessionless without_id = sessionless::serve;
};

} // namespace sluice::session
