#include "upstream/sse_session.hpp"

#include "base/text.hpp"
#include "upstream/handshake.hpp"
#include "upstream/room.hpp"

namespace sluice::upstream {

namespace {

constexpr std::size_t small_body = 64 * 1024;
// POSTs under way at once, beside the stream's reader.
constexpr std::size_t most_posts = 1024;

} // namespace

sse_session::sse_session(
    std::shared_ptr<core> shared, std::shared_ptr<net::http_pool> pool, header_list forwarded
)
    : duplex(std::move(shared)), pool_(std::move(pool)), forwarded_(std::move(forwarded)),
      own_(own_headers(core_->settings)), decoder_(core_->settings.max_message_bytes + 1024) {}

net::fields sse_session::headers() const {
    net::fields out = own_;
    if (!peer().revision.empty()) out.set("MCP-Protocol-Version", peer().revision);
    add_forwarded(out, forwarded_, core_->settings);
    return out;
}

aio::task<base::result<void>> sse_session::start(open_request request) {
    auto opened = co_await open_stream(request.until);
    if (!opened) co_return opened;
    auto me = std::static_pointer_cast<sse_session>(shared_from_this());
    core_->streams.spawn(read_all(me));
    opened = co_await open_session(std::move(request));
    if (!opened) co_await close();
    co_return opened;
}

aio::task<base::result<void>> sse_session::open_stream(aio::instant until) {
    net::client_request get;
    get.method = "GET";
    get.target = pool_->origin().target;
    get.headers = headers();
    get.headers.set("Accept", "text/event-stream");
    auto response = co_await pool_->send(std::move(get), until);
    if (!response) co_return response.error();
    const auto& head = (*response)->head();
    if (head.status != 200) co_return refused(head.status);
    auto readable = is_readable(head);
    if (!readable) co_return readable;
    auto type = base::lower(head.headers.get("Content-Type").value_or(""));
    if (!type.starts_with("text/event-stream"))
        co_return base::fault(base::errc::protocol, "it opened no event stream");
    stream_ = std::move(*response);
    for (;;) {
        while (auto event = decoder_.next()) {
            if (event->event == "endpoint") co_return take_endpoint(event->data);
        }
        auto piece = co_await stream_->read_some(until);
        if (!piece) co_return piece.error();
        if (piece->empty() || decoder_.too_big())
            co_return base::fault(base::errc::protocol, "its stream named no endpoint");
        decoder_.feed(*piece);
    }
}

base::result<void> sse_session::take_endpoint(const std::string& reference) {
    const auto& here = pool_->origin();
    auto there = here.resolve(base::trim(reference));
    if (!there || !there->same_origin(here))
        return base::fault(base::errc::protocol, "its endpoint is not of its own origin");
    endpoint_ = there->target;
    return {};
}

// The one reader of the stream, until it ends.
aio::task<> sse_session::read_all(self me) {
    co_await aio::keep_running_when_cancelled();
    base::fault why(base::errc::closed, "its stream ended; whether requests ran is not known");
    room space(me->core_->around.bodies);
    for (;;) {
        while (auto event = me->decoder_.next()) {
            bool message = event->event.empty() || event->event == "message";
            auto held = space.hand_over();
            if (message && !event->data.empty()) me->take(std::move(event->data), std::move(held));
        }
        // The stream is one host session's own: it ends, a new one is opened by the next call.
        if (!space.grow_to(me->decoder_.held())) {
            why = no_room();
            break;
        }
        if (me->decoder_.too_big()) {
            why = too_large();
            break;
        }
        auto piece = co_await me->stream_->read_some(aio::never);
        if (!piece || piece->empty()) break;
        me->decoder_.feed(*piece);
    }
    me->lose(why);
    me->stream_.reset();
}

base::result<void> sse_session::put(std::string bytes, std::uint64_t id) {
    if (core_->stopped) return base::fault(base::errc::unreachable, "the session has ended");
    if (core_->helpers.size() >= most_posts)
        return base::fault(base::errc::too_many, "too many requests are being sent");
    auto me = std::static_pointer_cast<sse_session>(shared_from_this());
    core_->helpers.spawn(post(std::move(me), headers(), std::move(bytes), id));
    return {};
}

aio::task<base::result<std::unique_ptr<reply>>> sse_session::call(outgoing request) {
    // Its POST, and what is sent for the session itself from now on, goes with these.
    if (!request.own) forwarded_ = request.headers;
    return duplex::call(std::move(request));
}

aio::task<> sse_session::post(self me, net::fields headers, std::string bytes, std::uint64_t id) {
    co_await aio::keep_running_when_cancelled();
    net::client_request request;
    request.target = me->endpoint_;
    request.headers = std::move(headers);
    request.headers.set("Content-Type", "application/json");
    request.headers.set("Accept", "application/json, text/event-stream");
    request.body = std::move(bytes);
    auto until = aio::clock::now() + me->core_->settings.timeout;
    auto response = co_await me->pool_->send(std::move(request), until);
    if (!response) {
        me->core_->note(response.error());
        me->fail(id, response.error());
        co_return;
    }
    int status = (*response)->head().status;
    if (status < 200 || status >= 300) me->fail(id, refused(status));
    if (status == 404) me->retire(); // the session is gone; a new one must be opened
    [[maybe_unused]] auto rest = co_await net::read_all(**response, small_body, until);
}

aio::task<> sse_session::close() {
    hearers_.clear();
    lose(base::fault(base::errc::closed, "the session was closed"));
    if (stream_) stream_->cancel(); // its reader lets go of it
    co_return;
}

} // namespace sluice::upstream
