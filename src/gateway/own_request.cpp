#include "gateway/own_request.hpp"

#include "upstream/handshake.hpp"

#include <stdexcept>

namespace sluice::gateway {

aio::task<base::result<wire::message>>
ask_quietly(const served& server, shared_link link, own_request what) {
    if (what.allowed.server() != server.settings().name)
        throw std::logic_error("a request of ours with the grant of another server");
    auto until = what.until;
    auto parsed = wire::parse_message(wire::make_request("0", what.method, what.params));
    upstream::outgoing request;
    request.message = std::make_shared<const wire::message>(std::move(*parsed));
    request.own = true;
    request.until = until;
    auto reply = co_await link->call(std::move(request));
    if (!reply) co_return reply.error();
    for (;;) {
        auto step = co_await (*reply)->next(until);
        if (!step) co_return step.error();
        if (step->what == upstream::step::kind::pause) continue;
        const auto& m = step->message;
        if (m.is_response()) co_return std::move(step->message);
        if (!m.is_request()) continue;
        auto refusal = upstream::answer_to(m);
        [[maybe_unused]] auto told = co_await link->notify(std::move(refusal), until);
    }
}

} // namespace sluice::gateway
