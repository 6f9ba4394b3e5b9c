// GET: the standing stream of a session, or the rest of a broken one by Last-Event-ID.
// Spec: Streamable HTTP, "Listening for Messages", "Resumability and Redelivery"; decision 6.
#include "base/text.hpp"
#include "front/front.hpp"
#include "gateway/resuming.hpp"
#include "mcp/errors.hpp"

#include <algorithm>
#include <memory>

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

// Reads a stream for a GET, from behind `after`. Whatever ends it frees the stream for another.
class reader {
public:
    reader(
        const gateway::grounds& in,
        std::shared_ptr<session::session> host,
        std::shared_ptr<session::stream> from,
        std::uint64_t after,
        bool announced // to all replicas
    )
        : in_(in), host_(std::move(host)), from_(std::move(from)), announced_(announced) {
        if (announced_) gateway::announce_reader(*host_, from_->handle(), true);
        from_->attach(after);
        ++host_->gets;
        host_->touch();
    }
    reader(const reader&) = delete;
    reader& operator=(const reader&) = delete;
    ~reader() {
        host_->touch();
        --host_->gets;
        from_->detach();
        if (announced_) gateway::announce_reader(*host_, from_->handle(), false);
    }

    const gateway::grounds& in() const { return in_; }
    const std::shared_ptr<session::session>& host() const { return host_; }
    const std::shared_ptr<session::stream>& stream() const { return from_; }
    bool standing() const { return from_->handle() == session::standing_handle; }

private:
    const gateway::grounds& in_;
    std::shared_ptr<session::session> host_;
    std::shared_ptr<session::stream> from_;
    bool announced_;
};
using sole_reader = std::unique_ptr<reader>;

// Ends the reading; the standing stream is given back after.
void leave(sole_reader held) {
    const auto& in = held->in();
    auto host = held->host();
    bool standing = held->standing();
    held.reset();
    if (standing) gateway::leave_standing(in, host);
}

// What a GET is while it waits, all else having ended.
aio::task<> read_on(net::exchange& http, sole_reader held, const settings& front) {
    bool whole = co_await write_events(http, *held->stream(), front);
    if (whole) [[maybe_unused]]
        auto finished = co_await http.finish();
    leave(std::move(held));
}

// Answers a GET with that stream; `rest` is what remains to be done when the host was there.
aio::task<> begin_reading(
    net::exchange& http,
    sole_reader held,
    std::uint64_t after,
    stream_rules rules,
    aio::task<>& rest
) {
    const auto& front = rules.front;
    bool open = co_await begin_events(http, held->host(), held->stream(), after, std::move(rules));
    if (!open) {
        leave(std::move(held));
        co_return;
    }
    http.forget_head();
    rest = read_on(http, std::move(held), front);
}

// The host came back before its old connection was seen to be gone: the new one is the live one. It
// takes its place after the old one has given it back.
aio::task<> relieve(std::shared_ptr<session::stream> read) {
    if (!read || !read->attached()) co_return;
    read->close_reader();
    co_await read->wait_detached(aio::clock::now() + std::chrono::seconds(2));
}

std::optional<refusal> because_unreadable(const base::fault& f) {
    auto why = because_away(f, std::string());
    if (f.code == base::errc::conflict) why.status = 409;
    return why;
}

// The stream that an event id names, with nobody reading it.
aio::task<base::result<std::shared_ptr<session::stream>>> open_named(
    gateway::house& in, std::shared_ptr<session::session> host, std::optional<event_place> place
) {
    auto handle = place ? host->handle_in(place->handle) : std::nullopt;
    base::result<std::shared_ptr<session::stream>> found =
        base::fault(base::errc::not_found, "no such stream");
    if (handle) {
        co_await relieve(host->find_stream(*handle));
        bool standing = *handle == session::standing_handle;
        if (standing) {
            found = co_await gateway::open_standing(in, host, true);
        } else {
            found = co_await gateway::open_rest(in, host, *handle);
        }
    }
    bool none = !found && found.error().code == base::errc::not_found;
    if (none) {
        co_return base::fault(
            base::errc::not_found,
            "Last-Event-ID names no stream of this session that can be resumed",
            404
        );
    }
    co_return found;
}

// Why it cannot be read on from there; nothing when it can.
std::optional<refusal> why_unread(const session::stream& s, std::uint64_t position) {
    if (s.done() && position >= s.last_position()) {
        return because(
            405, "that stream has ended and was delivered whole: nothing is left to resume"
        );
    }
    if (s.attached()) return because(409, "that stream is being read already; end that first");
    return std::nullopt;
}

} // namespace

aio::task<> front::serve_get(net::exchange& http, visit& v, aio::task<>& rest) {
    const auto& head = http.head();
    if (!accepts(head.headers, "text/event-stream")) {
        co_await turn_away(http, v, because(406, "Accept must list text/event-stream"));
        co_return;
    }
    auto host = co_await session_of(http, v, std::string(), std::string());
    if (!host) co_return;
    if (host->gets >= through_.in().sessions.bounds().streams_per_session) {
        auto why = because(
            429,
            "this session has as many streams open as limits.streams_per_session allows; end one "
            "first"
        );
        co_await turn_away(http, v, std::move(why));
        co_return;
    }
    v.under.reset(); // it only listens from here on, for as long as the host likes
    auto last = head.headers.get("last-event-id");
    if (last) {
        co_await serve_rest(http, v, std::move(host), std::string(*last), rest);
    } else {
        co_await serve_standing(http, v, std::move(host), rest);
    }
}

aio::task<>
front::serve_standing(net::exchange& http, visit& v, shared_session host, aio::task<>& rest) {
    auto& in = through_.in();
    auto standing = co_await gateway::open_standing(in, host, false);
    if (!standing) {
        auto why = because_unreadable(standing.error());
        if (standing.error().code == base::errc::not_found) why = because(no_such_session(v.at));
        co_await turn_away(http, v, std::move(*why));
        co_return;
    }
    through_.listens(*host);
    auto from = (*standing)->next_unsent() - 1;
    stream_rules rules{settings_, host->who().revision, false, std::move(v.headers)};
    auto held = std::make_unique<reader>(in, std::move(host), std::move(*standing), from, false);
    co_await begin_reading(http, std::move(held), from, std::move(rules), rest);
}

// The rest of a stream whose connection broke, from the event after that id.
aio::task<> front::serve_rest(
    net::exchange& http, visit& v, shared_session host, std::string last_event_id, aio::task<>& rest
) {
    auto place = parse_event_id(last_event_id);
    auto found = co_await open_named(through_.in(), host, place);
    auto why = found ? why_unread(**found, place->position) : because_unreadable(found.error());
    if (why) {
        if (why->status == 405) v.headers.emplace_back("Allow", "POST, DELETE, OPTIONS");
        co_await turn_away(http, v, std::move(*why));
        co_return;
    }
    auto stream = std::move(*found);
    if (stream->handle() == session::standing_handle) through_.listens(*host);
    stream_rules rules{settings_, host->who().revision, false, std::move(v.headers)};
    // A position ahead of the log means "from the end", also in the id that is given back.
    auto after = std::min(place->position, stream->last_position());
    auto held =
        std::make_unique<reader>(through_.in(), std::move(host), std::move(stream), after, true);
    co_await begin_reading(http, std::move(held), after, std::move(rules), rest);
}

} // namespace sluice::front
