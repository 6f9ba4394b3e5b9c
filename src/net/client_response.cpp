#include "net/client_response.hpp"

#include "net/http_write.hpp"

#include <algorithm>

namespace sluice::net {

namespace {

base::fault cancelled() {
    return {base::errc::cancelled, "the response was cancelled"};
}

base::fault not_http(std::string why) {
    return {base::errc::protocol, "not a valid HTTP answer: " + std::move(why)};
}

} // namespace

response_reader::response_reader(
    std::shared_ptr<http_pool::state> pool, std::unique_ptr<client_link> line
)
    : pool_(std::move(pool)), line_(std::move(line)) {
    ++pool_->count.busy;
}

response_reader::~response_reader() {
    finish(false);
}

void response_reader::finish(bool reusable) {
    if (!line_) return;
    --pool_->count.busy;
    bool keep = reusable && !send_failure_ && parsed_.keep_alive && line_->buffer().empty();
    if (keep) pool_->give_back(std::move(line_), parsed_.head.headers.get("Keep-Alive"));
    line_.reset();
}

base::fault response_reader::fail(base::fault why) {
    finish(false);
    failure_ = why;
    return why;
}

void response_reader::cancel() {
    cancelled_ = true;
    if (line_) line_->cancel();
}

// Every read sets its own deadline, so that a nudge without one pending is forgotten. The deadline
// is for a read of several parts that the nudge met between two of them.
void response_reader::nudge() {
    if (!line_) return;
    line_->set_deadline(aio::clock::now());
    line_->cut_off();
}

aio::task<base::result<void>>
response_reader::start(const client_request& request, aio::instant until, bool& wrote) {
    to_head_ = request.method == "HEAD";
    line_->set_deadline(until);
    auto sent = co_await send(request, wrote);
    line_->set_deadline(aio::never);
    if (sent) co_return sent;
    // A peer that answers before it has read everything (413) may have closed its end for reading.
    if (sent.error().code != base::errc::closed || !wrote) co_return fail(sent.error());
    send_failure_ = sent.error();
    co_return base::result<void>();
}

aio::task<base::result<void>> response_reader::read_head(aio::instant until) {
    if (has_head_) co_return base::result<void>();
    if (cancelled_) co_return cancelled();
    if (failure_) co_return *failure_;
    line_->set_deadline(until);
    auto got = co_await scan_head();
    line_->set_deadline(aio::never);
    if (cancelled_) co_return cancelled(); // the peer notices when this is destroyed
    if (!got && send_failure_) co_return fail(*send_failure_);
    if (!got && got.error().code == base::errc::timeout) co_return got;
    if (!got) co_return fail(got.error());
    has_head_ = true;
    if (parsed_.body.kind == body_kind::none) {
        done_ = true;
        finish(true);
    }
    co_return base::result<void>();
}

aio::task<base::result<void>> response_reader::send(const client_request& request, bool& wrote) {
    bool with_length = !request.body.empty() || request.method == "POST" || request.method == "PUT";
    request_marks marks{pool_->authority, with_length, request.body.size()};
    pool_->scratch.clear();
    append_request_head(pool_->scratch, request.method, request.target, request.headers, marks);
    pieces what(pool_->scratch, request.body);
    auto sent = line_->send_at_once(what, wrote);
    if (!sent || what.empty()) co_return sent;
    std::string rest = what.copy(); // the head is in shared memory, which an await would give away
    auto later = co_await line_->send(pieces(rest), wrote);
    co_return later;
}

aio::task<base::result<void>> response_reader::scan_head() {
    auto& in = line_->buffer();
    head_scanner scanner;
    for (;;) {
        auto scanned = in.empty() ? head_state::incomplete : scanner.scan(in.view());
        if (scanned == head_state::malformed) co_return not_http("a malformed head");
        auto known = scanned == head_state::complete ? scanner.size() : in.size();
        if (known > pool_->settings.max_header_bytes) co_return not_http("its head is too large");
        if (scanned == head_state::incomplete) {
            auto got = co_await line_->read_more();
            if (got == 0) co_return line_->why();
            continue;
        }
        auto parsed = parse_response_head(in.view().substr(0, scanner.size()), to_head_);
        if (!parsed) co_return not_http(parsed.error().message);
        in.consume(scanner.size());
        if (parsed->head.status == 101) co_return not_http("it switched protocols unasked");
        if (parsed->head.status < 200) { // 100, 102, 103: the answer follows
            scanner.reset();
            continue;
        }
        parsed_ = std::move(*parsed);
        co_return base::result<void>();
    }
}

aio::task<base::result<std::string>> response_reader::read_some(aio::instant until) {
    if (cancelled_) co_return cancelled();
    if (failure_) co_return *failure_;
    if (done_) co_return std::string();
    auto here = take_buffered();
    if (!here || !here->empty() || done_) co_return here;
    line_->set_deadline(until);
    auto got = co_await wait_for_some();
    if (line_) line_->set_deadline(aio::never);
    co_return got;
}

// What the buffer holds of the body, decoded; empty when it holds nothing.
base::result<std::string> response_reader::take_buffered() {
    auto& in = line_->buffer();
    std::string out;
    switch (parsed_.body.kind) {
    case body_kind::none:
        done_ = true;
        break;
    case body_kind::length: {
        auto size =
            static_cast<std::size_t>(std::min<std::uint64_t>(parsed_.body.length, in.size()));
        out.assign(in.view().substr(0, size));
        in.consume(size);
        parsed_.body.length -= size;
        done_ = parsed_.body.length == 0;
        break;
    }
    case body_kind::chunked:
        in.consume(chunks_.feed(in.view(), out));
        if (chunks_.failed()) return fail(not_http("broken chunked coding"));
        done_ = chunks_.done();
        break;
    case body_kind::until_close:
        out.assign(in.view());
        in.consume(in.size());
        break;
    }
    if (done_) finish(true);
    return out;
}

aio::task<base::result<std::string>> response_reader::wait_for_some() {
    for (;;) {
        std::string direct;
        std::size_t got = 0;
        bool sized = parsed_.body.kind == body_kind::length;
        if (sized) { // no need for a second copy
            direct.resize(
                static_cast<std::size_t>(std::min<std::uint64_t>(parsed_.body.length, 64 * 1024))
            );
            got = co_await line_->read_into(direct);
        } else {
            got = co_await line_->read_more();
        }
        if (cancelled_) co_return cancelled(); // the peer notices when this is destroyed
        if (got == 0) {
            auto why = line_->why();
            if (why.code == base::errc::timeout) co_return why;
            if (parsed_.body.kind != body_kind::until_close || !line_->ended_well())
                co_return fail(std::move(why));
            done_ = true;
            finish(false);
            co_return std::string();
        }
        if (sized) {
            direct.resize(got);
            parsed_.body.length -= got;
            done_ = parsed_.body.length == 0;
            if (done_) finish(true);
            co_return direct;
        }
        auto here = take_buffered();
        if (!here || !here->empty() || done_) co_return here;
    }
}

} // namespace sluice::net
