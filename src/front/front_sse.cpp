// The HTTP+SSE transport of 2024-11-05: a GET opens the session and is its one stream; the host
// posts to the address that its first event names, and every answer and question comes on that
// stream. When the stream goes, the session goes: nothing could deliver its answers any more
// (decision 9).
#include "aio/within.hpp"
#include "base/text.hpp"
#include "front/front.hpp"
#include "mcp/errors.hpp"
#include "wire/sse.hpp"

namespace sluice::front {

namespace {

constexpr std::string_view session_parameter = "session=";
// One write carries all that is ready, up to this.
constexpr std::size_t bytes_per_write = 64 * 1024;

// Holds the session's one stream, and ends the session whatever ends the reading.
class only_reader {
public:
    only_reader(session::registry& of, std::shared_ptr<session::session> host)
        : of_(of), host_(std::move(host)), out_(host_->find_stream(host_->standing().handle())) {
        out_->attach(0);
    }
    only_reader(const only_reader&) = delete;
    only_reader& operator=(const only_reader&) = delete;
    ~only_reader() {
        out_->detach();
        of_.end_soon(host_);
    }

    std::shared_ptr<session::stream> stream() const { return out_; }

private:
    session::registry& of_;
    std::shared_ptr<session::session> host_;
    std::shared_ptr<session::stream> out_;
};

// Where the host is to post: a path on the origin it came to, so no other origin can be named.
std::string messages_address(
    const net::request_head& head, std::string_view mount_path, std::string_view token
) {
    auto path = below_mount(head.path(), mount_path);
    if (path.ends_with('/')) path.remove_suffix(1);
    std::string address(mount_path); // also where a proxy has stripped it: the host sees it
    address.append(path).append("/messages?").append(session_parameter).append(token);
    return address;
}

std::string_view token_in(std::string_view query) {
    for (auto pair : base::split(query, '&')) {
        if (pair.starts_with(session_parameter)) return pair.substr(session_parameter.size());
    }
    return {};
}

// These hosts know neither event ids nor a stream that ends and goes on.
void append_event(std::string& text, const session::event& e) {
    if (e.kind == session::event_kind::pause) return;
    text.append("event: message\ndata: ").append(e.bytes).append("\n\n");
}

// Everything of the stream as events, until the session or the connection ends.
aio::task<>
write_all(net::exchange& http, std::unique_ptr<only_reader> held, aio::duration keepalive) {
    auto& s = *held->stream();
    for (;;) {
        auto got = co_await s.next(aio::clock::now() + keepalive);
        std::string text;
        if (!got && got.error().code != base::errc::timeout) co_return;
        if (!got) text = wire::comment("keep-alive");
        if (got && *got == nullptr) break;
        if (got) append_event(text, **got);
        while (text.size() < bytes_per_write && !s.fully_read()) {
            got = co_await s.next(aio::clock::now());
            if (!got || *got == nullptr) break;
            append_event(text, **got);
        }
        s.forget_sent();
        if (text.empty()) continue;
        auto written = co_await http.write(std::move(text));
        if (!written) co_return;
    }
    [[maybe_unused]] auto finished = co_await http.finish();
}

// Where a call goes is known a moment after it began, and only who debugs waits for that: the
// answer itself travels on a stream whose headers are gone.
aio::task<> until_routed(const gateway::operation& op, aio::instant until) {
    while (!op.granted && aio::clock::now() < until)
        co_await aio::pause(std::chrono::milliseconds(2));
}

} // namespace

aio::task<> front::serve_legacy(net::exchange& http, visit& v, aio::task<>& rest) {
    bool posts = v.at == endpoint::sse_messages;
    const auto& method = http.head().method;
    if (posts && method == "POST") {
        co_await serve_sse_post(http, std::move(v));
    } else if (!posts && method == "GET") {
        co_await serve_sse(http, v, rest);
    } else {
        v.headers.emplace_back("Allow", posts ? "POST, OPTIONS" : "GET, OPTIONS");
        auto text = posts ? "messages of an HTTP+SSE session come here by POST"
                          : "an HTTP+SSE session is opened here by GET";
        co_await turn_away(http, v, because(405, text));
    }
}

aio::task<> front::serve_sse(net::exchange& http, visit& v, aio::task<>& rest) {
    const auto& head = http.head();
    if (head.headers.get("accept") && !accepts(head.headers, "text/event-stream")) {
        co_await turn_away(http, v, because(406, "Accept must list text/event-stream"));
        co_return;
    }
    session::identity who;
    who.principal = v.who->id;
    who.scope = v.where.path;
    who.revision = mcp::revision::r1;
    who.one_stream = true;
    auto host = co_await through_.open_session(std::move(who));
    if (!host) {
        auto why = because_away(host.error(), std::string());
        if (why.status != 503) why.status = mcp::http_status_of(host.error());
        co_await turn_away(http, v, std::move(why));
        co_return;
    }
    auto held = std::make_unique<only_reader>(through_.in().sessions, *host);
    auto address = messages_address(head, settings_.mount_path, (*host)->who().id);
    auto first = "event: endpoint\ndata: " + address + "\n\n";
    bool open = co_await open_events(http, held->stream(), std::move(first), std::move(v.headers));
    if (!open) co_return;
    http.forget_head(); // it only listens from here on
    rest = write_all(http, std::move(held), settings_.keepalive);
}

aio::task<> front::serve_sse_post(net::exchange& http, visit v) {
    const auto& head = http.head();
    auto type = head.headers.get("content-type");
    if (!type || !is_json(*type)) {
        co_await turn_away(http, v, because(415, "Content-Type must be application/json"));
        co_return;
    }
    auto body = co_await receive(http, v);
    if (!body) co_return;
    std::string token(token_in(head.query()));
    auto host = through_.in().sessions.find(token, v.who->id);
    if (host && !serves(*host, v)) host.reset();
    if (!host) host = co_await adopt(http, v, std::move(token), std::string(), *body);
    if (!host) co_return;
    auto m = co_await read_message(http, v, std::move(*body));
    if (!m) co_return;
    const auto& bounds = through_.in().sessions.bounds();
    auto unread = host->standing().kept_bytes();
    if (m->is_request() && unread > 4 * (bounds.bytes_per_stream + bounds.resume_result_max)) {
        auto why = because(
            429,
            "more of the stream is not read yet than limits.bytes_per_stream and "
            "limits.resume_result allow; read it first",
            std::string(m->view(m->id))
        );
        why.code = mcp::code_internal;
        co_await turn_away(http, v, std::move(why));
        co_return;
    }
    // Not on the stream, where it would be taken for the other request's answer.
    auto free = check_id(*host, *m);
    if (m->is_request() && !free) {
        co_await turn_away(http, v, because(free.error(), std::string(m->view(m->id))));
        co_return;
    }
    auto headers = v.headers;
    bool debug = v.debug;
    auto begun = accept_sse(std::move(v), std::move(host), std::move(m), http.arrived());
    if (debug && begun) {
        co_await until_routed(*begun, aio::clock::now() + settings_.sse_after);
        explain_route(*begun, headers);
    }
    co_await answer_empty(http, 202, std::move(headers));
}

std::shared_ptr<const gateway::operation>
front::accept_sse(visit v, shared_session host, shared_message m, aio::instant arrived) {
    if (!m->is_request()) {
        through_.take(*host, *m, v.upward);
        return nullptr;
    }
    auto out = host->find_stream(host->standing().handle());
    bool greeting = m->method_is("initialize");
    bool fits =
        greeting ? host->begin_introduction() : host->is_introduced() || m->method_is("ping");
    if (!fits) {
        auto text = greeting ? "this session was initialized already" : "begin with initialize";
        out->push_final(wire::make_error(m->view(m->id), mcp::code_invalid_request, text));
        note_refusal_of_message(v, {base::errc::invalid_request, text});
        return nullptr;
    }
    if (greeting) {
        auto job = greet_sse(std::move(v), host, std::move(m), arrived);
        host->spawn(std::move(job));
        return nullptr;
    }
    auto number = ++host->calls_numbered;
    auto begun = begin(v, std::move(host), out, m, number, arrived);
    if (begun) return std::move(*begun);
    note_refusal_of_message(v, begun.error());
    out->push_final(wire::make_error(m->view(m->id), mcp::code_internal, begun.error().message));
    return nullptr;
}

aio::task<> front::greet_sse(visit v, shared_session host, shared_message m, aio::instant arrived) {
    co_await aio::keep_running_when_cancelled();
    auto began = aio::clock::now();
    auto endpoint = v.where.path;
    auto hello = co_await through_.greet_in(std::move(m), host, std::move(v.where), v.upward);
    through_.record_greeting(hello, {*v.who, endpoint, arrived, began});
    host->standing().push_final(std::move(hello.answer));
    if (!hello.host) through_.in().sessions.end_soon(host);
}

} // namespace sluice::front
