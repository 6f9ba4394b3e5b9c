// The answering half of a connection: whole answers, chunked streams, and noticing that the peer
// left.
#include "base/text.hpp"
#include "net/server_connection.hpp"

namespace sluice::net {

namespace {

bool has_no_body(int status) {
    return status < 200 || status == 204 || status == 304;
}

base::fault answered_already() {
    return {base::errc::internal, "the request was answered already"};
}
base::fault peer_left() {
    return {base::errc::closed, "the peer has closed the connection"};
}

} // namespace

aio::task<base::result<void>> connection::respond(response answer) {
    if (responded()) co_return answered_already();
    answer_ = answer_state::whole;
    settle_body();
    if (core_.stopping) keep_ = false;

    response_marks marks;
    marks.body = has_no_body(answer.status) ? body_mark::none : body_mark::length;
    marks.length = answer.body.size();
    marks.close = !keep_;
    marks.say_keep_alive = request_.http_1_0;
    core_.scratch.clear();
    append_response_head(core_.scratch, answer.status, answer.headers, core_.date.now(), marks);
    bool with_body = marks.body == body_mark::length && !bodiless_;

    pieces what(core_.scratch, with_body ? std::string_view(answer.body) : std::string_view());
    aio::error_code error;
    core_.counters.bytes_out += send_now(socket_, what, error);
    if (error) co_return send_failed(error);
    if (what.empty()) co_return base::result<void>();
    std::string rest = what.copy(); // the head is in shared memory, which an await would give away
    auto sent = co_await send(pieces(rest));
    co_return sent;
}

aio::task<base::result<void>> connection::start_stream(response_head head) {
    if (responded()) co_return answered_already();
    answer_ = answer_state::streaming;
    settle_body();
    bool old = request_.http_1_0;
    if (core_.stopping || old) keep_ = false;

    response_marks marks;
    marks.body = old ? body_mark::until_close : body_mark::chunked;
    marks.close = !keep_;
    std::string text;
    append_response_head(text, head.status, head.headers, core_.date.now(), marks);
    in_.shrink(0);
    auto sent = co_await send(pieces(text));
    if (sent) watch();
    co_return sent;
}

aio::task<base::result<void>> connection::write(std::string bytes) {
    if (answer_ != answer_state::streaming)
        co_return base::fault(base::errc::internal, "no stream is open");
    if (bytes.empty() || bodiless_) co_return base::result<void>();
    char space[20];
    bool raw = request_.http_1_0;
    pieces what(
        raw ? std::string_view() : chunk_prefix(bytes.size(), space),
        bytes,
        raw ? std::string_view() : std::string_view("\r\n")
    );
    auto sent = co_await send(what);
    co_return sent;
}

aio::task<base::result<void>> connection::finish() {
    if (answer_ != answer_state::streaming)
        co_return base::fault(base::errc::internal, "no stream is open");
    answer_ = answer_state::whole;
    gone_ = nullptr;
    if (request_.http_1_0 || bodiless_) co_return base::result<void>();
    auto sent = co_await send(pieces("0\r\n\r\n"));
    co_return sent;
}

base::result<void> connection::send_failed(const aio::error_code& error) {
    broken_ = true;
    keep_ = false;
    bool late = error == asio::error::operation_aborted && guard_.fired();
    if (late) return base::fault(base::errc::timeout, "the peer does not read");
    if (error == asio::error::operation_aborted)
        return base::fault(base::errc::cancelled, "cancelled while writing");
    return peer_left();
}

// Nearly always the kernel takes everything at once and nothing here waits.
aio::task<base::result<void>> connection::send(pieces what) {
    if (broken_ || !socket_.is_open()) co_return peer_left();
    aio::error_code error;
    core_.counters.bytes_out += send_now(socket_, what, error);
    if (error) co_return send_failed(error);
    while (!what.empty()) {
        guard_.move_to(aio::clock::now() + core_.limits.write_timeout);
        auto got = co_await socket_.async_write_some(what.left(), aio::nothrow);
        auto& [failure, count] = got;
        core_.counters.bytes_out += count;
        what.drop(count);
        if (failure) co_return send_failed(failure);
        if (what.empty()) guard_.move_to(aio::never);
    }
    co_return base::result<void>();
}

void connection::on_peer_gone(std::function<void()> gone) {
    gone_ = std::move(gone);
    if (answer_ == answer_state::streaming) watch();
}

// At most one wait is outstanding; one left over from an earlier stream serves the next.
void connection::watch() {
    if (watching_ || !gone_ || !socket_.is_open()) return;
    watching_ = true;
    socket_.async_wait(
        tcp_socket::wait_read,
        [self = shared_from_this()](const aio::error_code& error) {
            self->watching_ = false;
            if (!error) self->on_readable();
        }
    );
}

void connection::on_readable() {
    if (!gone_ || answer_ != answer_state::streaming || !socket_.is_open()) return;
    switch (peek(socket_)) {
    case peek_state::quiet:
        watch();
        return;
    case peek_state::bytes:
        return; // the next request, early: whether the peer leaves shows when we write
    case peek_state::ended:
        break;
    }
    auto gone = std::exchange(gone_, nullptr);
    gone();
}

} // namespace sluice::net
