// GET: the standing stream of a session, or the rest of a broken one by Last-Event-ID.
// Spec: Streamable HTTP, "Listening for Messages", "Resumability and Redelivery"; decision 6.
#include "base/text.hpp"
#include "front/front.hpp"
#include "mcp/errors.hpp"

#include <limits>

namespace sluice::front {

namespace {

struct event_place {
    std::string handle;
    std::uint64_t position = 0;
};

std::optional<event_place> parse_event_id(std::string_view id) {
    auto dot = id.rfind('.');
    if (dot == std::string_view::npos) return std::nullopt;
    auto position = base::parse_unsigned(id.substr(dot + 1));
    if (!position) return std::nullopt;
    return event_place{std::string(id.substr(0, dot)), *position};
}

} // namespace

aio::task<> front::serve_get(net::exchange& http, visit v) {
    const auto& head = http.head();
    if (!accepts(head.headers, "text/event-stream")) {
        co_await refuse(
            http,
            406,
            mcp::code_invalid_request,
            "Accept must list text/event-stream",
            std::string(),
            v.headers
        );
        co_return;
    }
    auto host = find_session(head, v);
    if (!host) {
        const auto& f = host.error();
        int status = f.http_status != 0 ? f.http_status : mcp::http_status_of(f);
        co_await refuse(
            http, status, mcp::code_invalid_request, f.message, std::string(), v.headers
        );
        co_return;
    }
    const auto& session = *host;
    const auto& bounds = through_.in().sessions.bounds();
    if (session->gets >= bounds.streams_per_session) {
        co_await refuse(
            http,
            429,
            mcp::code_invalid_request,
            "this session has as many streams open as limits.streams_per_session allows",
            std::string(),
            v.headers
        );
        co_return;
    }
    stream_rules rules{settings_, session->who().revision, false, v.headers};
    auto last = head.headers.get("last-event-id");
    if (!last) {
        session->standing();
        auto standing = session->find_stream("0");
        if (standing->attached()) {
            co_await refuse(
                http,
                409,
                mcp::code_invalid_request,
                "this session has an open GET stream already",
                std::string(),
                v.headers
            );
            co_return;
        }
        through_.listens(*session);
        auto from = standing->next_unsent() - 1;
        co_await serve_events(http, session, standing, from, false, std::move(rules));
        co_return;
    }
    auto place = parse_event_id(*last);
    auto stream = place ? session->find_stream(place->handle) : nullptr;
    if (!stream) {
        co_await refuse(
            http,
            404,
            mcp::code_invalid_request,
            "Last-Event-ID names no stream of this session that can be resumed",
            std::string(),
            v.headers
        );
        co_return;
    }
    if (stream->done() && place->position >= stream->last_position()) {
        v.headers.emplace_back("Allow", "POST, DELETE, OPTIONS");
        co_await refuse(
            http,
            405,
            mcp::code_invalid_request,
            "that stream has ended and was delivered",
            std::string(),
            v.headers
        );
        co_return;
    }
    if (stream->attached()) {
        // The host came back before its old connection was seen to be gone: the new one is the live
        // one.
        stream->close_reader();
        co_await stream->wait_detached(aio::clock::now() + std::chrono::seconds(2));
    }
    if (stream->attached()) {
        co_await refuse(
            http,
            409,
            mcp::code_invalid_request,
            "that stream is being read already",
            std::string(),
            v.headers
        );
        co_return;
    }
    co_await serve_events(http, session, stream, place->position, true, std::move(rules));
}

} // namespace sluice::front
