#include "net/client_link.hpp"

#include "aio/channel.hpp"

#include <boost/asio/ip/basic_resolver.hpp>

#include <algorithm>

namespace sluice::net {

namespace {

using endpoint = asio::ip::tcp::endpoint;
using resolver = asio::ip::basic_resolver<asio::ip::tcp, aio::executor>;

constexpr std::uint32_t small_piece = 4 * 1024;
constexpr std::uint32_t large_piece = 64 * 1024;

// A look-up cannot be stopped while the C library is at it: it is left behind, and this outlives
// the wait.
struct lookup {
    explicit lookup(aio::executor ex) : asks(ex), answered(ex) {}
    resolver asks;
    aio::signal_flag answered;
    aio::error_code error = asio::error::operation_aborted;
    std::vector<endpoint> found;
};

// First the order the system prefers, but families in turn, so that a dead IPv6 costs one attempt.
std::vector<endpoint> in_turn(std::vector<endpoint> all) {
    std::vector<endpoint> first;
    std::vector<endpoint> second;
    for (const auto& one : all) {
        auto& to = one.protocol() == all.front().protocol() ? first : second;
        to.push_back(one);
    }
    std::vector<endpoint> out;
    for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
        if (i < first.size()) out.push_back(first[i]);
        if (i < second.size()) out.push_back(second[i]);
    }
    return out;
}

base::fault too_late() {
    return {base::errc::timeout, "the deadline passed while connecting"};
}

} // namespace

client_link::client_link(aio::loop& loop, aio::deadlines& deadlines, http_pool::counters& counters)
    : socket_(loop.get_executor()), guard_(deadlines.arm(aio::never, [this] { cancel(); })),
      counters_(counters) {}

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
    if (guard_.fired()) return {base::errc::timeout, "no answer in time"};
    return {base::errc::cancelled, "cancelled"};
}

aio::task<base::result<std::vector<endpoint>>>
client_link::look_up(const url& origin, aio::instant until) {
    aio::error_code error;
    auto literal = asio::ip::make_address(origin.host, error);
    if (!error) co_return std::vector<endpoint>{endpoint(literal, origin.port)};

    auto asked = std::make_shared<lookup>(socket_.get_executor());
    auto service = std::to_string(origin.port);
    auto flags = resolver::numeric_service | resolver::address_configured;
    auto take = [asked](const aio::error_code& failure, const resolver::results_type& results) {
        asked->error = failure;
        for (const auto& one : results)
            asked->found.push_back(one.endpoint());
        asked->answered.wake();
    };
    asked->asks.async_resolve(origin.host, service, flags, std::move(take));
    bool answered = co_await asked->answered.wait(until);
    if (!answered) {
        asked->asks.cancel();
        if (aio::clock::now() < until) co_return base::fault(base::errc::cancelled, "cancelled");
        co_return base::fault(base::errc::timeout, "looking up " + origin.host + " took too long");
    }
    if (asked->error || asked->found.empty()) {
        co_return base::fault(
            base::errc::unreachable, "cannot look up " + origin.host + ": " + asked->error.message()
        );
    }
    co_return in_turn(std::move(asked->found));
}

aio::task<base::result<void>> client_link::try_address(endpoint to, aio::instant until) {
    aio::error_code ignored;
    socket_.close(ignored);
    socket_.open(to.protocol(), error_);
    if (error_)
        co_return base::fault(base::errc::unreachable, "cannot open a socket: " + error_.message());
    prepare(socket_);
    guard_.move_to(until);
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
    const url& origin, tls_context* tls, std::chrono::milliseconds limit, aio::instant until
) {
    auto latest = std::min(until, aio::clock::now() + limit);
    auto found = co_await look_up(origin, latest);
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
        guard_.move_to(latest);
        auto shaken = co_await tls_->handshake();
        connected = shaken.ok();
        if (!connected) last = shaken.error();
        if (guard_.fired())
            last = base::fault(base::errc::timeout, "the TLS handshake took too long");
    }
    guard_.move_to(aio::never);
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
