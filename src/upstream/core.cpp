#include "upstream/core.hpp"

#include "base/outcome.hpp"
#include "base/text.hpp"
#include "sys/log.hpp"
#include "sys/random.hpp"

namespace sluice::upstream {

namespace {

constexpr std::string_view left_alone =
    "it has failed several times in a row and is left alone for a while";

} // namespace

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
    return base::fault(base::errc::unreachable, std::string(left_alone));
}

void core::report(std::string_view doing, const base::fault& why) {
    // Why it is left alone was told when it failed.
    if (stopped || why.message == left_alone) return;
    if (!worries.is_news(why, aio::clock::now())) return;
    sys::log_line line(sys::log_level::warn, "upstream_failed");
    line.field("server", settings.name).field("doing", doing);
    line.field("outcome", name_of(base::outcome_of(why))).field("problem", base::clip(why.message));
    line.field("advice", advice_on(why, doing, settings));
    if (auto untold = worries.take_untold(); untold > 0) line.field("untold", untold);
}

void core::leave_unanswered(std::size_t requests) {
    numbers.unanswered += requests;
    report(
        "asking the client",
        {base::errc::too_many, "it asks more than it takes answers to; some got none"}
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
