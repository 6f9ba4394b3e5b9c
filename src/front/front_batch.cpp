// JSON-RPC batches, which exist only at 2025-03-26: every request is an operation of its own, all
// of them share one stream, and the answers leave as one array or as events. Spec: R2 Streamable
// HTTP and Lifecycle (initialize MUST NOT be in a batch).
#include "front/front.hpp"
#include "mcp/errors.hpp"

namespace sluice::front {

namespace {

base::fault bad(std::string text) {
    return {base::errc::invalid_request, std::move(text), 400};
}

base::result<std::vector<std::shared_ptr<const wire::message>>> parse_all(std::string_view body) {
    auto texts = wire::split_batch(body);
    if (!texts) return texts.error();
    std::vector<std::shared_ptr<const wire::message>> all;
    for (auto& text : *texts) {
        auto parsed = wire::parse_message(std::move(text));
        if (!parsed) return parsed.error();
        if (parsed->is_request() && parsed->method_is("initialize")) {
            return bad("initialize must not be part of a batch");
        }
        if (parsed->meta_protocol_version.present())
            return bad("batches do not exist at 2026-07-28");
        all.push_back(std::make_shared<const wire::message>(std::move(*parsed)));
    }
    return all;
}

} // namespace

aio::task<> front::serve_batch(net::exchange& http, visit v, std::string body) {
    auto all = parse_all(body);
    if (!all) {
        auto why = because(all.error());
        why.status = 400;
        why.code = mcp::rpc_code_of(all.error());
        co_await turn_away(http, v, std::move(why));
        co_return;
    }
    auto host = co_await session_of(http, v, std::string(), std::move(body));
    if (!host) co_return;
    if (!mcp::allows_batch(host->who().revision)) {
        co_await turn_away(
            http, v, because(400, "batches exist only at protocol revision 2025-03-26")
        );
        co_return;
    }
    std::size_t requests = 0;
    for (auto& m : *all)
        requests += m->is_request() ? 1U : 0U;
    // Cancels overtake: they are taken before the batch's own requests start.
    for (auto& m : *all) {
        if (m->is_request()) continue;
        // One that cannot be handed over is lost to its call alone; the others are answered.
        [[maybe_unused]] auto done = co_await hand_over(http.head(), v, host, m);
    }
    if (requests == 0) {
        co_await answer_empty(http, 202, std::move(v.headers));
        co_return;
    }
    auto out = host->open_stream(requests);
    std::uint32_t number = 0;
    for (auto& m : *all) {
        if (!m->is_request()) continue;
        auto begun = begin(v, host, out, m, number++, http.arrived());
        if (begun) continue;
        note_refusal_of_message(v, begun.error());
        out->push_final(wire::make_error(m->view(m->id), mcp::code_internal, begun.error().message)
        );
    }
    stream_rules rules{settings_, host->who().revision, true, std::move(v.headers)};
    co_await answer_stream(http, host, std::move(out), std::move(rules));
}

} // namespace sluice::front
