// GET: the standing stream of a session, or the rest of a broken one by Last-Event-ID.
// Spec: Streamable HTTP, "Listening for Messages", "Resumability and Redelivery"; decision 6.
#include "base/text.hpp"
#include "front/front.hpp"
#include "gateway/resuming.hpp"
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

// Holds the place of a reader for all replicas to know, as long as it lives.
class announced {
public:
    announced(std::shared_ptr<session::session> host, std::string handle)
        : host_(std::move(host)), handle_(std::move(handle)) {
        gateway::announce_reader(*host_, handle_, true);
    }
    announced(const announced&) = delete;
    announced& operator=(const announced&) = delete;
    ~announced() { gateway::announce_reader(*host_, handle_, false); }

private:
    std::shared_ptr<session::session> host_;
    std::string handle_;
};

refusal because_unreadable(const base::fault& f) {
    auto why = because_away(f, std::string());
    if (f.code == base::errc::conflict) why.status = 409;
    return why;
}

} // namespace

aio::task<> front::serve_get(net::exchange& http, visit v) {
    const auto& head = http.head();
    if (!accepts(head.headers, "text/event-stream")) {
        co_await turn_away(http, v, because(406, "Accept must list text/event-stream"));
        co_return;
    }
    auto host = co_await session_of(http, v, std::string(), std::string());
    if (!host) co_return;
    if (host->gets >= through_.in().sessions.bounds().streams_per_session) {
        auto why = because(
            429, "this session has as many streams open as limits.streams_per_session allows"
        );
        co_await turn_away(http, v, std::move(why));
        co_return;
    }
    v.under.reset(); // it only listens from here on, for as long as the host likes
    auto last = head.headers.get("last-event-id");
    if (last) {
        co_await serve_rest(http, std::move(v), std::move(host), std::string(*last));
    } else {
        co_await serve_standing(http, std::move(v), std::move(host));
    }
}

aio::task<> front::serve_standing(net::exchange& http, visit v, shared_session host) {
    auto& in = through_.in();
    auto standing = co_await gateway::open_standing(in, host, false);
    if (!standing) {
        auto why = because_unreadable(standing.error());
        if (standing.error().code == base::errc::not_found) why = because(no_such_session(v.at));
        co_await turn_away(http, v, std::move(why));
        co_return;
    }
    through_.listens(*host);
    stream_rules rules{settings_, host->who().revision, false, std::move(v.headers)};
    auto from = (*standing)->next_unsent() - 1;
    co_await serve_events(http, host, *standing, from, std::move(rules));
    gateway::leave_standing(in, host);
}

// The rest of a stream whose connection broke, from the event after that id.
aio::task<>
front::serve_rest(net::exchange& http, visit v, shared_session host, std::string last_event_id) {
    auto place = parse_event_id(last_event_id);
    auto handle = place ? host->handle_in(place->handle) : std::nullopt;
    base::result<std::shared_ptr<session::stream>> found =
        base::fault(base::errc::not_found, "no such stream");
    bool standing = handle && *handle == session::standing_handle;
    if (standing) {
        found = co_await gateway::open_standing(through_.in(), host, true);
    } else if (handle) {
        found = co_await gateway::open_rest(through_.in(), host, *handle);
    }
    if (!found) {
        auto why = because_unreadable(found.error());
        if (found.error().code == base::errc::not_found) {
            why = because(404, "Last-Event-ID names no stream of this session that can be resumed");
        }
        co_await turn_away(http, v, std::move(why));
        co_return;
    }
    auto stream = *found;
    if (stream->done() && place->position >= stream->last_position()) {
        v.headers.emplace_back("Allow", "POST, DELETE, OPTIONS");
        co_await turn_away(http, v, because(405, "that stream has ended and was delivered"));
        co_return;
    }
    if (stream->attached()) {
        // The host came back before its old connection was seen to be gone: the new one is the live
        // one.
        stream->close_reader();
        co_await stream->wait_detached(aio::clock::now() + std::chrono::seconds(2));
    }
    if (stream->attached()) {
        co_await turn_away(http, v, because(409, "that stream is being read already"));
        co_return;
    }
    announced reader(host, *handle);
    if (standing) through_.listens(*host);
    stream_rules rules{settings_, host->who().revision, false, std::move(v.headers)};
    co_await serve_events(http, host, stream, place->position, std::move(rules));
    if (standing) gateway::leave_standing(through_.in(), host);
}

} // namespace sluice::front
