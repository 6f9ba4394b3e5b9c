#include "net/server_connection.hpp"

#include "base/text.hpp"

namespace sluice::net {

namespace {

constexpr std::size_t small_buffer = 4 * 1024;
constexpr auto linger_time = std::chrono::seconds(2);
constexpr std::size_t linger_bytes = 4 * 1024 * 1024;

// Words that need no escaping in JSON, and nothing that the peer has sent.
std::string too_large(const http_limits& limits) {
    return "the head of the request is larger than " + std::to_string(limits.max_header_bytes) +
           " bytes" + in_brackets(limits.names.header_bytes) +
           ": send fewer or shorter header fields";
}

std::string too_slow(const http_limits& limits) {
    return "the head of the request was not whole after " +
           std::to_string(limits.header_timeout.count()) + " ms" +
           in_brackets(limits.names.header_timeout) + ": send it in one go";
}

std::string unsound(const base::fault& why) {
    return "not sound HTTP: " + why.message + "; where a request ends must be beyond doubt";
}

} // namespace

connection::connection(server_core& core, tcp_socket socket, const asio::ip::tcp::endpoint& peer)
    : core_(core), socket_(std::move(socket)), peer_(peer.address().to_string()) {}

void connection::begin() {
    place_ = core_.connections.insert(core_.connections.end(), this);
    registered_ = true;
    ++core_.counters.open;
    guard_ = core_.deadlines.arm(aio::never, [this] {
        aio::error_code ignored;
        socket_.cancel(ignored);
    });
}

// Everything that refers to the server goes here: a pending watch may keep the object a little
// longer.
void connection::end() noexcept {
    if (!registered_) return;
    registered_ = false;
    guard_.disarm();
    gone_ = nullptr;
    close();
    core_.connections.erase(place_);
    --core_.counters.open;
    core_.changed.wake();
}

void connection::close() {
    aio::error_code ignored;
    socket_.close(ignored);
}

aio::task<> connection::run(std::shared_ptr<connection> self) {
    co_await aio::keep_running_when_cancelled();
    struct leave {
        connection& it;
        ~leave() { it.end(); }
    };
    leave on_exit{*self};
    co_await self->serve_requests();
}

aio::task<> connection::serve_requests() {
    while (keep_ && !broken_) {
        auto next = co_await next_request();
        if (next == request_state::ended) break;
        if (next == request_state::ready) {
            co_await core_.serve(*this);
            gone_ = nullptr;
            if (answer_ == answer_state::none)
                refusal_ = refusal(
                    500, "no_answer", "the server failed at this request and says so in its log"
                );
        }
        if (answer_ == answer_state::none) co_await answer_refusal();
        if (next == request_state::refused) break;
        // A stream that was not finished ends here, without its last chunk: the host sees it cut.
        if (answer_ == answer_state::streaming) co_return;
    }
    if (answer_ != answer_state::none && !broken_) co_await linger();
}

// Apart, for its frame is large, and the one of serve_requests stays while a stream does.
aio::task<> connection::answer_refusal() {
    auto answer = std::move(refusal_);
    (void)co_await respond(std::move(answer));
}

aio::task<connection::request_state> connection::next_request() {
    answer_ = answer_state::none;
    body_taken_ = false;
    body_done_ = true;
    scanner_.reset();
    request_ = {}; // an idle connection keeps no old request
    in_.shrink(small_buffer);
    idle_ = in_.empty();
    if (idle_ && core_.stopping) co_return request_state::ended;
    auto wait = idle_ && !first_ ? core_.limits.idle_timeout : core_.limits.header_timeout;
    guard_.move_to(aio::clock::now() + wait);
    for (;;) {
        if (!in_.empty()) {
            auto scanned = scanner_.scan(in_.view());
            if (scanned == head_state::malformed)
                co_return refuse(
                    400,
                    "framing",
                    "a line of the request's head does not end with CR LF: plain HTTP is spoken "
                    "here"
                );
            auto known = scanned == head_state::complete ? scanner_.size() : in_.size();
            if (known > core_.limits.max_header_bytes)
                co_return refuse(431, "headers_too_large", too_large(core_.limits));
            if (scanned == head_state::complete) co_return take_head();
        }
        std::size_t least = in_.empty() ? small_buffer : 1;
        auto got = co_await read_more(least);
        if (got == 0) {
            bool slow =
                !in_.empty() && guard_.fired() && read_error_ == asio::error::operation_aborted;
            if (slow) co_return refuse(408, "timeout", too_slow(core_.limits));
            co_return request_state::ended;
        }
        if (!idle_) continue;
        idle_ = false;
        guard_.move_to(aio::clock::now() + core_.limits.header_timeout);
    }
}

connection::request_state connection::take_head() {
    guard_.move_to(aio::never);
    first_ = false;
    arrived_ = aio::clock::now();
    auto parsed = parse_request_head(in_.view().substr(0, scanner_.size()));
    if (!parsed) return refuse(400, "framing", unsound(parsed.error()));
    in_.consume(scanner_.size());
    request_ = std::move(*parsed);
    keep_ = request_.head.keep_alive;
    bodiless_ = request_.head.method == "HEAD";
    body_done_ = request_.body.kind == body_kind::none;
    return request_state::ready;
}

response connection::refusal(int status, std::string_view reason, const std::string& why) {
    if (core_.tell) core_.tell({status, reason, why, peer_});
    response out;
    out.status = status;
    out.headers.add("Content-Type", "application/json");
    out.body = "{\"error\":\"" + why + "\"}";
    return out;
}

connection::request_state
connection::refuse(int status, std::string_view reason, const std::string& why) {
    guard_.move_to(aio::never);
    idle_ = false;
    keep_ = false;
    body_done_ = false;
    request_ = {};
    bodiless_ = false;
    refusal_ = refusal(status, reason, why);
    return request_state::refused;
}

aio::task<std::size_t> connection::read_more(std::size_t least) {
    auto room = in_.room(least);
    auto got =
        co_await socket_.async_read_some(asio::buffer(room.data(), room.size()), aio::nothrow);
    auto& [error, size] = got;
    read_error_ = error;
    if (error) co_return 0;
    in_.commit(size);
    core_.counters.bytes_in += size;
    co_return size;
}

base::fault connection::read_fault() const {
    if (guard_.fired()) return {base::errc::timeout, "the request body came too slowly"};
    return {base::errc::closed, "the connection ended within the request body"};
}

aio::task<base::result<std::string>> connection::read_body() {
    if (body_taken_) co_return base::fault(base::errc::internal, "a body is read once");
    body_taken_ = true;
    if (body_done_) co_return std::string();
    auto framing = request_.body;
    bool sized = framing.kind == body_kind::length;
    if (sized && framing.length > core_.limits.max_body_bytes) {
        co_return base::fault(base::errc::too_large, "the request body is too large");
    }
    if (sized && framing.length <= in_.size()) { // it came along with the head
        std::string body(in_.view().substr(0, framing.length));
        in_.consume(framing.length);
        body_done_ = true;
        co_return body;
    }
    if (request_.expects_continue && in_.empty()) {
        auto told = co_await send(pieces("HTTP/1.1 100 Continue\r\n\r\n"));
        if (!told) co_return told.error();
    }
    guard_.move_to(aio::clock::now() + core_.limits.body_timeout);
    base::result<std::string> body;
    if (sized) {
        body = co_await read_sized(framing.length);
    } else {
        body = co_await read_chunked();
    }
    body_done_ = body.ok();
    guard_.move_to(aio::never);
    co_return body;
}

aio::task<base::result<std::string>> connection::read_sized(std::size_t size) {
    // Grows with what arrives: a length alone must not cost its memory.
    std::string body(in_.view());
    in_.consume(body.size());
    std::size_t have = body.size();
    while (have < size) {
        if (have == body.size())
            body.resize(std::min(size, std::max<std::size_t>(16 * 1024, have * 2)));
        auto room = asio::buffer(body.data() + have, body.size() - have);
        auto got = co_await socket_.async_read_some(room, aio::nothrow);
        auto& [error, count] = got;
        if (error) co_return read_fault();
        have += count;
        core_.counters.bytes_in += count;
    }
    co_return body;
}

aio::task<base::result<std::string>> connection::read_chunked() {
    chunk_decoder decoder;
    std::string body;
    auto limit = core_.limits.max_body_bytes;
    for (;;) {
        in_.consume(decoder.feed(in_.view(), body));
        if (decoder.done()) co_return body;
        if (decoder.failed())
            co_return base::fault(base::errc::parse_error, "broken chunked coding");
        if (body.size() > limit || decoder.owed() > limit - body.size()) {
            co_return base::fault(base::errc::too_large, "the request body is too large");
        }
        auto got = co_await read_more(16 * 1024);
        if (got == 0) co_return read_fault();
    }
}

// Before an answer: a body that nobody read is dropped when it is here already; else the connection
// cannot carry another request.
void connection::settle_body() {
    if (body_done_) return;
    bool here = !body_taken_ && request_.body.kind == body_kind::length &&
                request_.body.length <= in_.size();
    if (here) {
        in_.consume(request_.body.length);
        body_done_ = true;
    } else {
        keep_ = false;
    }
}

// Closing with unread input would make the kernel reset the connection and the host lose our
// answer: so say that nothing more comes, and read on for a little.
aio::task<> connection::linger() {
    aio::error_code ignored;
    socket_.shutdown(tcp_socket::shutdown_send, ignored);
    if (body_done_ && in_.empty()) co_return;
    guard_.move_to(aio::clock::now() + linger_time);
    std::size_t dropped = 0;
    while (dropped < linger_bytes) {
        in_.consume(in_.size());
        auto got = co_await read_more(16 * 1024);
        if (got == 0) co_return;
        dropped += got;
    }
}

} // namespace sluice::net
