#include "front/answers.hpp"

#include "mcp/errors.hpp"
#include "wire/message.hpp"
#include "wire/sse.hpp"

#include <algorithm>

namespace sluice::front {

namespace {

net::fields json_headers(extra_headers& headers) {
    net::fields out;
    out.add("Content-Type", "application/json");
    for (auto& [name, value] : headers)
        out.add(name, value);
    return out;
}

void append_event_id(std::string& text, const session::stream& s, std::uint64_t position) {
    text.append("id: ").append(s.public_handle()).append(".").append(std::to_string(position));
}

// Sealing costs, so a stream is named only once it has events.
void name_stream(const session::session& host, session::stream& s) {
    if (s.public_handle().empty()) s.be_known_as(host.public_handle(s.handle()));
}

// One event as SSE text. R4 hosts get ids on everything; so do older ones, which may resume as
// well.
void append_frame(std::string& text, const session::stream& s, const session::event& e) {
    append_event_id(text, s, e.position);
    text.append("\nevent: message\ndata: ").append(e.bytes).append("\n\n");
}

std::string
priming(const session::stream& s, std::uint64_t position, std::chrono::milliseconds retry) {
    std::string text;
    append_event_id(text, s, position);
    text.append("\nretry: ").append(std::to_string(retry.count())).append("\ndata: \n\n");
    return text;
}

// Reads a stream while this object lives; whatever ends the reading frees it for another.
class reading {
public:
    explicit reading(session::stream& s) : s_(s) {}
    reading(const reading&) = delete;
    reading& operator=(const reading&) = delete;
    ~reading() { s_.detach(); }

private:
    session::stream& s_;
};

// One write carries all that is ready, up to this: a write for each note costs more than the note.
constexpr std::size_t bytes_per_write = 64 * 1024;

// Results and questions are in the store before the host has them: it may lose us right after.
constexpr auto secure_time = std::chrono::seconds(1);

bool must_be_secured(const session::event& e) {
    return e.kind == session::event_kind::final || e.kind == session::event_kind::question;
}

// True when the event is the last that this connection carries.
bool append_event(std::string& text, const session::stream& s, const session::event& e) {
    if (e.kind != session::event_kind::pause) {
        append_frame(text, s, e);
        return false;
    }
    text += priming(s, e.position, std::chrono::milliseconds(e.retry_ms));
    return true;
}

net::response_head head_of_events(const extra_headers& headers) {
    net::response_head head;
    head.headers.add("Content-Type", "text/event-stream");
    head.headers.add("Cache-Control", "no-cache");
    head.headers.add("X-Accel-Buffering", "no");
    for (const auto& [name, value] : headers)
        head.headers.add(name, value);
    return head;
}

aio::task<> run_events(
    net::exchange& http, std::shared_ptr<session::stream> s, std::string first, stream_rules rules
) {
    bool open = co_await open_events(http, s, std::move(first), std::move(rules.headers));
    if (!open) co_return;
    bool whole = co_await write_events(http, *s, rules.front);
    if (whole) [[maybe_unused]]
        auto finished = co_await http.finish();
}

// All finals of a finished stream that had nothing else to say: a body, or nothing for a cancelled
// call.
aio::task<> answer_finals(
    net::exchange& http, session::stream& s, const session::event* first, stream_rules rules
) {
    int status = first->http_status == 0 ? 200 : first->http_status;
    std::string body = s.take(*first);
    if (rules.batch) {
        body.insert(body.begin(), '[');
        for (;;) {
            auto more = co_await s.next(aio::clock::now());
            if (!more || *more == nullptr) break;
            body += "," + s.take(**more);
        }
        body += ']';
        status = 200;
    }
    co_await answer_json(http, status, std::move(body), rules.headers);
}

} // namespace

aio::task<bool> open_events(
    net::exchange& http,
    std::shared_ptr<session::stream> of,
    std::string first,
    extra_headers headers
) {
    auto started = co_await http.start_stream(head_of_events(headers));
    if (!started) co_return false;
    http.on_peer_gone([weak = std::weak_ptr(of)] {
        if (auto alive = weak.lock()) alive->close_reader();
    });
    if (first.empty()) co_return true;
    auto written = co_await http.write(std::move(first));
    co_return written.ok();
}

aio::task<bool> write_events(net::exchange& http, session::stream& s, const settings& front) {
    for (bool last = false; !last;) {
        auto got = co_await s.next(aio::clock::now() + front.keepalive);
        std::string text;
        bool weighty = false;
        if (!got) {
            if (got.error().code != base::errc::timeout) co_return false;
            text = wire::comment("keep-alive");
        } else if (*got == nullptr) {
            co_return true;
        } else {
            weighty = must_be_secured(**got);
            last = append_event(text, s, **got);
        }
        while (!last && text.size() < bytes_per_write) {
            const auto* more = s.try_next();
            if (more == nullptr) break;
            weighty = weighty || must_be_secured(*more);
            last = append_event(text, s, *more);
        }
        if (weighty && s.is_kept()) {
            bool ours = co_await s.secure(aio::clock::now() + secure_time);
            if (!ours) co_return false;
        }
        auto written = co_await http.write(std::move(text));
        if (!written) co_return false;
    }
    co_return true;
}

aio::task<> answer_json(net::exchange& http, int status, std::string body, extra_headers headers) {
    net::response out;
    out.status = status;
    out.headers = json_headers(headers);
    if (status == 503 && !out.headers.get("retry-after")) out.headers.add("Retry-After", "1");
    out.body = std::move(body);
    [[maybe_unused]] auto written = co_await http.respond(std::move(out));
}

aio::task<> refuse(
    net::exchange& http,
    int status,
    int code,
    std::string message,
    std::string id_text,
    extra_headers headers
) {
    if (id_text.empty()) id_text = "null";
    co_await answer_json(
        http, status, wire::make_error(id_text, code, message), std::move(headers)
    );
}

aio::task<> answer_empty(net::exchange& http, int status, extra_headers headers) {
    net::response out;
    out.status = status;
    for (auto& [name, value] : headers)
        out.headers.add(name, value);
    [[maybe_unused]] auto written = co_await http.respond(std::move(out));
}

aio::task<> answer_stream(
    net::exchange& http,
    std::shared_ptr<session::session> host,
    std::shared_ptr<session::stream> from,
    stream_rules rules
) {
    from->attach(0);
    reading held(*from);
    auto soon = aio::clock::now() + rules.front.sse_after;
    auto first = co_await from->next(soon);
    // A batch is JSON only when all of it is there; its first final alone decides nothing.
    bool finals = first && *first != nullptr && (*first)->kind == session::event_kind::final;
    while (rules.batch && !from->done() && finals) {
        auto more = co_await from->next(soon);
        finals = more && *more != nullptr && (*more)->kind == session::event_kind::final;
    }
    if (rules.batch) {
        from->rewind();
        first = co_await from->next(aio::clock::now());
    }
    if (rules.explained) explain_route(*rules.explained, rules.headers);
    bool only_finals = first && *first != nullptr && (*first)->kind == session::event_kind::final &&
                       (!rules.batch || from->done());
    if (only_finals && from->done() && from->holds_only_finals()) {
        co_await answer_finals(http, *from, *first, rules);
        from->forget();
        host->drop_stream(*from);
        co_return;
    }
    from->rewind();
    co_await host->keep_stream(from);
    name_stream(*host, *from);
    std::string prime;
    // A call cancelled before it said anything leaves an empty stream, without anything to resume.
    bool silent = from->done() && from->last_position() == 0;
    if (mcp::allows_priming(rules.revision) && !silent)
        prime = priming(*from, 0, rules.front.retry);
    co_await run_events(http, from, std::move(prime), std::move(rules));
}

aio::task<bool> begin_events(
    net::exchange& http,
    std::shared_ptr<session::session> host,
    std::shared_ptr<session::stream> from,
    std::uint64_t after,
    stream_rules rules
) {
    name_stream(*host, *from);
    std::string prime;
    // A resumed R4 stream begins with an id, or stock clients lose their place.
    if (mcp::allows_priming(rules.revision)) prime = priming(*from, after, rules.front.retry);
    bool open = co_await open_events(http, from, std::move(prime), std::move(rules.headers));
    co_return open;
}

} // namespace sluice::front
