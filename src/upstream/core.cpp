#include "upstream/core.hpp"

#include "sys/random.hpp"

namespace sluice::upstream {

void core::note(const base::fault& problem) {
    numbers.last_problem = std::string(name_of(problem.code));
    if (problem.http_status != 0)
        numbers.last_problem += ": HTTP " + std::to_string(problem.http_status);
    bool counts = problem.code == base::errc::unreachable || problem.code == base::errc::timeout;
    if (!counts) return;
    bool opened = health.failed(aio::clock::now(), sys::random_u64());
    if (opened) say("left alone for a while: " + numbers.last_problem);
}

void core::note_success() {
    if (health.succeeded()) say("answers again");
}

base::result<void> core::admit() {
    if (stopped) return base::fault(base::errc::unreachable, "the gateway is shutting down");
    if (health.admits(aio::clock::now())) return {};
    return base::fault(
        base::errc::unreachable,
        "it has failed several times in a row and is left alone for a while"
    );
}

base::result<std::unique_ptr<counted>> take_place(const std::shared_ptr<core>& in) {
    auto most = in->settings.max_concurrent_requests;
    if (most != 0 && in->numbers.in_flight >= most) {
        return base::fault(
            base::errc::too_many,
            std::to_string(most) +
                " requests are under way already, as many as its max_concurrent_requests allows; "
                "try again"
        );
    }
    return std::make_unique<counted>(in, &server_status::in_flight);
}

} // namespace sluice::upstream
