#include "net/client_link.hpp"

#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include <algorithm>

namespace sluice::net {

namespace {

using endpoint = asio::ip::tcp::endpoint;

constexpr std::uint32_t small_piece = 4 * 1024;
constexpr std::uint32_t large_piece = 64 * 1024;

base::fault too_late() {
    return {base::errc::timeout, "the deadline passed while connecting"};
}

} // namespace

client_link::client_link(aio::loop& loop, aio::deadlines& deadlines, http_pool::counters& counters)
    : socket_(loop.get_executor()), deadlines_(deadlines), guard_(cutting_off(aio::never)),
      counters_(counters) {}

aio::deadlines::guard client_link::cutting_off(aio::instant at) {
    return deadlines_.arm(at, [this] { cut_off(); });
}

void client_link::cut_off() {
    late_ = true;
    cancel();
}

void client_link::begin_until(aio::instant at) {
    late_ = false;
    guard_.move_to(at);
}

void client_link::set_deadline(aio::instant at) {
    if (at == aio::never) late_ = false;
    guard_.move_to(at);
}

void client_link::cancel() {
    aio::error_code ignored;
    socket_.cancel(ignored);
}

bool client_link::fit() const {
    return in_.empty() && peek(socket_) == peek_state::quiet;
}

base::fault client_link::why() const {
    if (error_ != asio::error::operation_aborted) {
        return {base::errc::closed, "the connection was lost: " + error_.message()};
    }
    if (late_) return {base::errc::timeout, "no answer in time"};
    return {base::errc::cancelled, "cancelled"};
}

aio::task<base::result<std::vector<endpoint>>>
client_link::look_up(const url& origin, std::weak_ptr<lookup>& shared, aio::instant until) {
    auto literal = asio::ip::make_address(origin.host, error_);
    if (!error_) co_return std::vector<endpoint>{endpoint(literal, origin.port)};

    auto asked = shared.lock();
    if (!asked) {
        auto started = lookup::start(origin.host, origin.port);
        if (!started) co_return started.error();
        asked = std::move(*started);
        shared = asked;
    }
    int fd = asked->watch();
    if (fd < 0) co_return base::fault(base::errc::unreachable, "out of descriptors");
    asio::posix::basic_stream_descriptor<aio::executor> answered(socket_.get_executor(), fd);
    guard_ = deadlines_.arm(until, [this, &answered] {
        late_ = true;
        aio::error_code ignored;
        answered.cancel(ignored);
    });
    auto got = co_await answered.async_wait(asio::posix::descriptor_base::wait_read, aio::nothrow);
    error_ = std::get<0>(got);
    base::fault failure;
    if (error_) failure = why();
    late_ = false;
    guard_ = cutting_off(aio::never);
    if (error_) co_return failure;
    shared.reset(); // the next one asks anew
    co_return asked->answer();
}

aio::task<base::result<void>> client_link::try_address(endpoint to, aio::instant until) {
    aio::error_code ignored;
    socket_.close(ignored);
    socket_.open(to.protocol(), error_);
    if (error_)
        co_return base::fault(base::errc::unreachable, "cannot open a socket: " + error_.message());
    prepare(socket_);
    begin_until(until);
    auto got = co_await socket_.async_connect(to, aio::nothrow);
    error_ = std::get<0>(got);
    if (!error_) co_return base::result<void>();
    auto fault = why();
    if (fault.code == base::errc::closed) {
        fault = base::fault(
            base::errc::unreachable,
            "cannot connect to " + to.address().to_string() + " port " + std::to_string(to.port()) +
                ": " + error_.message()
        );
    }
    co_return fault;
}

aio::task<base::result<void>> client_link::connect(
    const url& origin,
    tls_context* tls,
    std::weak_ptr<lookup>& shared,
    std::chrono::milliseconds limit,
    aio::instant until
) {
    auto latest = std::min(until, aio::clock::now() + limit);
    auto found = co_await look_up(origin, shared, latest);
    base::fault last(base::errc::unreachable, "no address");
    if (!found) last = found.error();
    auto addresses = found ? std::move(*found) : std::vector<endpoint>();
    bool connected = false;
    for (std::size_t i = 0; i < addresses.size() && !connected; ++i) {
        // What is left is shared among the addresses left, so that a silent one leaves time for the
        // next.
        auto now = aio::clock::now();
        auto share = (latest - now) / static_cast<int>(addresses.size() - i);
        auto tried = co_await try_address(addresses[i], now + share);
        connected = tried.ok();
        if (!connected) last = tried.error();
        if (last.code == base::errc::cancelled) break;
    }
    if (connected && tls != nullptr) {
        auto wrapped = tls->wrap(socket_, origin.host);
        if (!wrapped) co_return wrapped.error();
        tls_ = std::move(*wrapped);
        begin_until(latest);
        auto shaken = co_await tls_->handshake();
        connected = shaken.ok();
        if (!connected) last = shaken.error();
        if (late_) last = base::fault(base::errc::timeout, "the TLS handshake took too long");
    }
    set_deadline(aio::never);
    if (connected) co_return base::result<void>();
    if (last.code == base::errc::timeout && aio::clock::now() >= until) co_return too_late();
    if (last.code == base::errc::timeout)
        last = {base::errc::unreachable, "no connection in time: " + last.message};
    co_return last;
}

base::result<void> client_link::send_at_once(pieces& what, bool& wrote) {
    if (tls_) return {};
    auto sent = send_now(socket_, what, error_);
    counters_.bytes_out += sent;
    wrote = wrote || sent > 0;
    if (error_) return why();
    return {};
}

aio::task<base::result<void>> client_link::send(pieces what, bool& wrote) {
    while (!what.empty()) {
        io_count got;
        if (tls_) {
            wrote = true;
            got = co_await tls_->write_some(what.left());
        } else {
            auto plain = co_await socket_.async_write_some(what.left(), aio::nothrow);
            got = {std::get<0>(plain), std::get<1>(plain)};
        }
        error_ = got.error;
        counters_.bytes_out += got.count;
        wrote = wrote || got.count > 0;
        what.drop(got.count);
        if (error_) co_return why();
    }
    co_return base::result<void>();
}

aio::task<std::size_t> client_link::read_into(std::span<char> room) {
    late_ = false;
    io_count got;
    if (tls_) {
        got = co_await tls_->read_some(room);
    } else {
        auto plain =
            co_await socket_.async_read_some(asio::buffer(room.data(), room.size()), aio::nothrow);
        got = {std::get<0>(plain), std::get<1>(plain)};
    }
    error_ = got.error;
    counters_.bytes_in += got.count;
    if (error_) co_return 0;
    co_return got.count;
}

aio::task<std::size_t> client_link::read_more() {
    in_.shrink(piece_);
    auto room = in_.room(piece_);
    auto count = co_await read_into(room);
    in_.commit(count);
    // A quiet stream keeps a small buffer; one that fills it gets larger ones.
    if (count == room.size()) piece_ = std::min(piece_ * 4, large_piece);
    if (count < piece_ / 4) piece_ = std::max(piece_ / 4, small_piece);
    co_return count;
}

} // namespace sluice::net
