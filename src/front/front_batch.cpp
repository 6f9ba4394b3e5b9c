// JSON-RPC batches, which exist only at 2025-03-26: every request is an operation of its own, all
// of them share one stream, and the answers leave as one array or as events. Spec: R2 Streamable
// HTTP and Lifecycle (initialize MUST NOT be in a batch).
#include "front/front.hpp"
#include "mcp/errors.hpp"

#include <unordered_set>

namespace sluice::front {

namespace {

base::fault bad(std::string text) {
    return {base::errc::invalid_request, std::move(text), 400};
}

using messages = std::vector<std::shared_ptr<const wire::message>>;

base::result<messages> parse_all(std::string_view body) {
    auto texts = wire::split_batch(body);
    if (!texts) return texts.error();
    messages all;
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

messages requests_in(const messages& all) {
    messages found;
    for (const auto& m : all) {
        if (m->is_request()) found.push_back(m);
    }
    return found;
}

// Before any of it starts, so that what is refused has done nothing.
base::result<void> check_batch(const session::session& host, const messages& requests) {
    if (!mcp::allows_batch(host.who().revision))
        return bad("batches exist only at protocol revision 2025-03-26");
    std::unordered_set<wire::token> ids;
    for (const auto& m : requests) {
        auto free = check_id(host, *m);
        if (!free) return free;
        if (!ids.insert(*m->id_token()).second)
            return bad("two requests of the batch have one id; give each its own");
    }
    return {};
}

} // namespace

// All of them under way, with their answers in one stream.
std::shared_ptr<session::stream> front::start_all(
    const visit& v,
    const shared_session& host,
    const std::vector<shared_message>& requests,
    aio::instant arrived
) {
    auto out = host->open_stream(requests.size());
    std::uint32_t number = 0;
    for (const auto& m : requests) {
        auto begun = begin(v, host, out, m, number++, arrived);
        if (begun) continue;
        note_refusal_of_message(v, begun.error());
        out->push_final(wire::make_error(m->view(m->id), mcp::code_internal, begun.error().message)
        );
    }
    return out;
}

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
    auto requests = requests_in(*all);
    auto fits = check_batch(*host, requests);
    if (!fits) {
        co_await turn_away(http, v, because(fits.error()));
        co_return;
    }
    // Cancels overtake: they are taken before the batch's own requests start.
    for (auto& m : *all) {
        if (m->is_request()) continue;
        // One that cannot be handed over is lost to its call alone; the others are answered.
        [[maybe_unused]] auto done = co_await hand_over(http.head(), v, host, m);
    }
    if (requests.empty()) {
        co_await answer_empty(http, 202, std::move(v.headers));
        co_return;
    }
    fits = check_batch(*host, requests); // others may have begun meanwhile
    if (!fits) {
        co_await turn_away(http, v, because(fits.error()));
        co_return;
    }
    auto out = start_all(v, host, requests, http.arrived());
    stream_rules rules{settings_, host->who().revision, true, std::move(v.headers)};
    co_await answer_stream(http, host, std::move(out), std::move(rules));
}

} // namespace sluice::front
