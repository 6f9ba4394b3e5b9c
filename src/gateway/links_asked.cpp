// The part of session_links that has to do with what an upstream says where all calls of a session
// are heard, for a call that another replica runs.
#include "aio/within.hpp"
#include "gateway/calls_elsewhere.hpp"
#include "gateway/links.hpp"
#include "upstream/handshake.hpp"

#include <algorithm>

namespace sluice::gateway {

namespace {
constexpr std::size_t most_handed_on = 16; // at once; what is more is refused
}

bool session_links::look_elsewhere(const shared_served& server, const wire::message& said) {
    if (closing_ || !is_kept(*server) || handing_on_ >= most_handed_on) return false;
    ++handing_on_;
    chores_.spawn(hand_on(slot_of(server), std::make_shared<const wire::message>(said)));
    return true;
}

aio::task<> session_links::hand_on(shared_slot s, std::shared_ptr<const wire::message> said) {
    co_await aio::keep_running_when_cancelled();
    auto link = s->link;
    calls_at at{s->of->settings().name, field_of("up", *s->of)};
    auto taken =
        co_await hand_to_call_elsewhere(in_, host_.shared_from_this(), std::move(at), said);
    --handing_on_;
    // Where it is not known, whoever has it answers: never two.
    if (!taken || *taken || !said->is_request() || !link) co_return;
    auto until = aio::clock::now() + farewell;
    [[maybe_unused]] auto sent = co_await link->notify(upstream::answer_to(*said), until);
}

bool session_links::take_for_call(std::string_view upstream, const wire::message& said) {
    return std::any_of(slots_.begin(), slots_.end(), [&](const auto& one) {
        const auto& s = *one.second;
        // Not one that is this replica's alone: nobody else hears what is said there.
        bool meant = s.link && is_published(s) && field_of("up", *s.of) == upstream;
        return meant && s.link->take_for_call(said);
    });
}

} // namespace sluice::gateway
