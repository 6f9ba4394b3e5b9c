#include "net/http_server.hpp"

#include "aio/within.hpp"
#include "base/text.hpp"
#include "net/server_connection.hpp"

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/ip/v6_only.hpp>

namespace sluice::net {

namespace {

using acceptor = asio::basic_socket_acceptor<asio::ip::tcp, aio::executor>;
using endpoint = asio::ip::tcp::endpoint;

constexpr std::size_t max_refusals = 64; // being told off at the same time; more are just closed
constexpr auto refusal_time = std::chrono::seconds(1);

std::string full_house(const http_limits& limits) {
    return "as many connections are open as may be" + in_brackets(limits.names.connections) +
           ": close one, or try again in a moment";
}

std::string as_answer(const std::string& text) {
    auto body = "{\"error\":\"" + text + "\"}";
    return "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
           "Content-Length: " +
           std::to_string(body.size()) + "\r\nRetry-After: 1\r\nConnection: close\r\n\r\n" + body;
}

bool is_shortage(const aio::error_code& error) {
    return error == asio::error::no_descriptors || error == asio::error::no_memory ||
           error == asio::error::no_buffer_space ||
           error == boost::system::errc::too_many_files_open_in_system;
}

base::fault cannot(std::string_view what, std::string_view address, const aio::error_code& error) {
    return {
        base::errc::config, std::string(what) + " " + std::string(address) + ": " + error.message()
    };
}

struct where {
    std::string host;
    std::uint16_t port = 0;
};

base::result<where> split_address(std::string_view address) {
    base::fault odd(base::errc::config, "not host:port: " + std::string(address));
    auto colon = address.rfind(':');
    if (colon == std::string_view::npos) return odd;
    auto port = base::parse_unsigned(address.substr(colon + 1));
    if (!port || *port > 65535) return odd;
    auto host = address.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    if (host == "localhost") host = "127.0.0.1";
    return where{std::string(host), static_cast<std::uint16_t>(*port)};
}

} // namespace

struct http_server::state {
    state(aio::loop& loop, aio::deadlines& deadlines, http_limits limits, handler serve)
        : core(loop, deadlines, limits, std::move(serve)), door(loop.get_executor()),
          full(full_house(limits)), full_answer(as_answer(full)) {}

    base::result<void> open(const endpoint& at, std::string_view address, bool dual);
    aio::task<> accept_loop();
    void welcome(tcp_socket socket, const endpoint& peer);
    aio::task<> turn_away(tcp_socket socket);
    void stop();

    server_core core;
    acceptor door;
    std::string full; // what is said when there are too many connections
    std::string full_answer;
    std::size_t refusals = 0;
};

http_server::http_server(
    aio::loop& loop, aio::deadlines& deadlines, http_limits limits, handler serve
)
    : state_(std::make_unique<state>(loop, deadlines, limits, std::move(serve))) {}

http_server::~http_server() = default;

void http_server::on_turned_away(std::function<void(const turned_away&)> tell) {
    state_->core.tell = std::move(tell);
}

base::result<void>
http_server::state::open(const endpoint& at, std::string_view address, bool dual) {
    aio::error_code error;
    door.open(at.protocol(), error);
    if (error) return cannot("cannot open a socket for", address, error);
    door.set_option(acceptor::reuse_address(true), error);
    if (!error && dual) door.set_option(asio::ip::v6_only(false), error);
    if (!error) door.bind(at, error);
    if (!error) door.listen(acceptor::max_listen_connections, error);
    if (!error) return {};
    aio::error_code ignored;
    door.close(ignored);
    return cannot("cannot listen on", address, error);
}

base::result<void> http_server::listen(std::string_view address) {
    if (state_->door.is_open()) return base::fault(base::errc::internal, "it listens already");
    auto split = split_address(address);
    if (!split) return split.error();
    base::result<void> opened;
    if (split->host.empty()) {
        opened = state_->open(endpoint(asio::ip::address_v6::any(), split->port), address, true);
        if (!opened)
            opened =
                state_->open(endpoint(asio::ip::address_v4::any(), split->port), address, false);
    } else {
        aio::error_code error;
        auto ip = asio::ip::make_address(split->host, error);
        if (error) return base::fault(base::errc::config, "not an IP address: " + split->host);
        opened = state_->open(endpoint(ip, split->port), address, false);
    }
    if (!opened) return opened.error();
    state_->core.crew.spawn(state_->accept_loop());
    return {};
}

aio::task<> http_server::state::accept_loop() {
    co_await aio::keep_running_when_cancelled();
    while (!core.stopping && door.is_open()) {
        endpoint peer;
        auto got = co_await door.async_accept(peer, aio::nothrow);
        auto& [error, socket] = got;
        if (core.stopping || error == asio::error::operation_aborted) co_return;
        if (!error) {
            welcome(std::move(socket), peer);
        } else if (is_shortage(error)) {
            // The connection waits in the kernel until something else has closed.
            co_await aio::pause(std::chrono::milliseconds(100));
        }
    }
}

void http_server::state::welcome(tcp_socket socket, const endpoint& peer) {
    prepare(socket);
    if (core.counters.open >= core.limits.max_connections) {
        ++core.counters.refused;
        auto from = peer.address().to_string();
        if (core.tell) core.tell({503, "too_many_connections", full, from});
        if (refusals < max_refusals) core.crew.spawn(turn_away(std::move(socket)));
        return;
    }
    ++core.counters.accepted;
    auto guest = std::make_shared<connection>(core, std::move(socket), peer);
    guest->begin();
    core.crew.spawn(connection::run(std::move(guest)));
}

// Says 503, then reads until the peer has closed, so that our answer is not lost to a reset.
aio::task<> http_server::state::turn_away(tcp_socket socket) {
    co_await aio::keep_running_when_cancelled();
    ++refusals;
    auto guard = core.deadlines.arm(aio::clock::now() + refusal_time, [&socket] {
        aio::error_code ignored;
        socket.cancel(ignored);
    });
    aio::error_code error;
    pieces answer(full_answer);
    core.counters.bytes_out += send_now(socket, answer, error);
    socket.shutdown(tcp_socket::shutdown_send, error);
    std::string scratch(2048, '\0');
    for (int reads = 0; reads < 16; ++reads) {
        auto got = co_await socket.async_read_some(asio::buffer(scratch), aio::nothrow);
        auto& [failure, size] = got;
        if (failure) break;
    }
    --refusals;
}

void http_server::state::stop() {
    core.stopping = true;
    aio::error_code ignored;
    door.close(ignored);
    for (auto* guest : core.connections) {
        if (guest->idle()) guest->close();
    }
}

std::uint16_t http_server::port() const {
    aio::error_code error;
    auto at = state_->door.local_endpoint(error);
    return error ? std::uint16_t{0} : at.port();
}

std::string http_server::local_address() const {
    aio::error_code error;
    auto at = state_->door.local_endpoint(error);
    if (error) return {};
    auto host = at.address().to_string();
    if (at.address().is_v6()) host = "[" + host + "]";
    return host + ":" + std::to_string(at.port());
}

void http_server::stop_accepting() {
    state_->stop();
}

aio::task<> http_server::drain(aio::duration limit) {
    auto& core = state_->core;
    state_->stop();
    auto until = aio::clock::now() + limit;
    while (core.counters.open > 0 && aio::clock::now() < until)
        co_await core.changed.wait(until);
    for (auto* guest : core.connections)
        guest->close();
    core.crew.stop();
    // A handler may pass one cancelled wait and begin another: tell it again until it ends.
    while (core.counters.open > 0) {
        auto soon = aio::clock::now() + std::chrono::milliseconds(50);
        co_await core.changed.wait(soon);
        core.crew.stop();
    }
    co_await core.crew.join();
}

const http_server_counters& http_server::counters() const {
    return state_->core.counters;
}

} // namespace sluice::net
