// The part of session_links that passes on what is no call: what a host says of its roots, to its
// upstreams (spec: Roots, "Root List Changes"); and what an upstream says where all calls of a
// session are heard, to the call that another replica runs.
#include "gateway/calls_elsewhere.hpp"
#include "gateway/links.hpp"
#include "upstream/handshake.hpp"

#include <algorithm>

namespace sluice::gateway {

namespace {

constexpr std::size_t most_handed_on = 16; // at once; what is more is refused
constexpr auto told_within = std::chrono::seconds(10);

} // namespace

bool session_links::look_elsewhere(const shared_served& server, const wire::message& said) {
    if (slots_.closing || !slots_.is_kept(*server) || handing_on_ >= most_handed_on) return false;
    ++handing_on_;
    chores_.spawn(hand_on(slots_.at(server), std::make_shared<const wire::message>(said)));
    return true;
}

aio::task<> session_links::hand_on(shared_slot s, std::shared_ptr<const wire::message> said) {
    co_await aio::keep_running_when_cancelled();
    auto link = s->link;
    calls_at at{s->of->settings().name, slots_.field("up", *s->of)};
    auto taken =
        co_await hand_to_call_elsewhere(in_, host_.shared_from_this(), std::move(at), said);
    --handing_on_;
    // Where it is not known, whoever has it answers: never two.
    if (!taken || *taken || !said->is_request() || !link) co_return;
    auto until = aio::clock::now() + farewell;
    [[maybe_unused]] auto sent = co_await link->notify(upstream::answer_to(*said), until);
}

bool session_links::take_for_call(std::string_view upstream, const wire::message& said) {
    return std::any_of(slots_.all.begin(), slots_.all.end(), [&](const auto& one) {
        const auto& s = *one.second;
        // Not one that is this replica's alone: nobody else hears what is said there.
        bool meant = s.link && is_published(s) && slots_.field("up", *s.of) == upstream;
        return meant && s.link->take_for_call(said);
    });
}

// What was declared when its session was opened decides; it is the same for all of them.
bool session_links::hears_of_roots(const served& server) const {
    if (is_shared(server.settings())) return false;
    auto opening = opening_for(server.settings(), host_.who(), nullptr);
    return has_flag(opening.capabilities, "roots", "listChanged");
}

void session_links::roots_changed(
    const std::string& note, const std::shared_ptr<const net::fields>& headers
) {
    if (slots_.closing) return;
    for (const auto& server : in_.newest) {
        if (!hears_of_roots(*server) || !in_.permit(host_.who(), *server)) continue;
        chores_.spawn(tell_of_roots(server, note, headers));
    }
}

aio::task<> session_links::tell_of_roots(
    shared_served server, std::string note, std::shared_ptr<const net::fields> headers
) {
    co_await aio::keep_running_when_cancelled();
    auto until = aio::clock::now() + told_within;
    auto link = open_link(*server);
    if (!link && slots_.is_kept(*server)) {
        bool opened = co_await is_open_elsewhere(server);
        if (!opened || slots_.closing) co_return;
        auto taken_up = co_await ensure(server, std::move(headers), until);
        if (taken_up) link = *taken_up;
    }
    if (!link) co_return;
    auto told = co_await link->notify(std::move(note), until);
    if (!told) server->server->report("notifications/roots/list_changed", told.error());
}

// A session there that other replicas have opened and this one can take up.
aio::task<bool> session_links::is_open_elsewhere(shared_served server) {
    auto field = slots_.field("up", *server);
    auto handle = co_await slots_.store().read_field(slots_.record(), std::move(field));
    if (!handle || !*handle || (*handle)->empty()) co_return false;
    const auto* s = slots_.find(*server);
    co_return s == nullptr || s->handle != **handle;
}

} // namespace sluice::gateway
