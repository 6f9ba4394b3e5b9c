// Runs one coroutine on a loop and rethrows what it threw, so that REQUIRE works inside it.
// raw_peer is a bare TCP end for tests that must send and see exact bytes.
#pragma once

#include "aio/task.hpp"
#include "aio/within.hpp"
#include "net/socket.hpp"

#include <doctest/doctest.h>

#include <exception>
#include <string>
#include <string_view>

namespace sluice::net::test {

inline constexpr auto patience = std::chrono::seconds(10);

inline void run(aio::loop& loop, aio::task<> body) {
    std::exception_ptr failure;
    bool done = false;
    asio::co_spawn(loop, std::move(body), [&](std::exception_ptr error) {
        failure = std::move(error);
        done = true;
        loop.stop();
    });
    loop.run_for(patience * 3);
    if (failure) std::rethrow_exception(failure);
    REQUIRE_MESSAGE(done, "the test body hangs");
    loop.restart();
}

class raw_peer {
public:
    explicit raw_peer(aio::loop& loop)
        : socket_(loop.get_executor()), timer_(loop.get_executor()) {}
    explicit raw_peer(tcp_socket socket)
        : socket_(std::move(socket)), timer_(socket_.get_executor()) {}

    aio::task<> connect(std::uint16_t port) {
        asio::ip::tcp::endpoint to(asio::ip::address_v4::loopback(), port);
        auto got = co_await socket_.async_connect(to, aio::nothrow);
        auto& [error] = got;
        REQUIRE(!error);
    }

    // False when the peer no longer takes it.
    aio::task<bool> send(std::string bytes) {
        while (!bytes.empty()) {
            auto got = co_await socket_.async_write_some(asio::buffer(bytes), aio::nothrow);
            auto& [error, count] = got;
            if (error) co_return false;
            bytes.erase(0, count);
        }
        co_return true;
    }

    // Reads until `what` has been seen, the peer closes, or patience ends.
    aio::task<std::string> read_until(std::string what) {
        arm();
        while (seen_.find(what) == seen_.npos) {
            bool more = co_await read_some();
            if (!more) break;
        }
        disarm();
        auto at = seen_.find(what);
        auto length = at == seen_.npos ? seen_.size() : at + what.size();
        std::string out = seen_.substr(0, length);
        seen_.erase(0, length);
        co_return out;
    }

    aio::task<std::string> read_to_end() {
        arm();
        for (;;) {
            bool more = co_await read_some();
            if (!more) break;
        }
        disarm();
        co_return std::exchange(seen_, {});
    }

    bool ended() const { return ended_; }
    bool was_reset() const { return reset_; }
    bool gave_up() const { return gave_up_; }
    tcp_socket& socket() { return socket_; }
    void close() {
        aio::error_code ignored;
        socket_.close(ignored);
    }

private:
    void arm() {
        timer_.expires_after(patience);
        timer_.async_wait([this](aio::error_code error) {
            if (error) return;
            gave_up_ = true;
            close();
        });
    }
    void disarm() { timer_.expires_at(aio::never); }

    aio::task<bool> read_some() {
        char space[4096];
        auto got = co_await socket_.async_read_some(asio::buffer(space), aio::nothrow);
        auto& [error, count] = got;
        if (error) {
            ended_ = true;
            reset_ = error == asio::error::connection_reset;
            co_return false;
        }
        seen_.append(space, count);
        co_return true;
    }

    tcp_socket socket_;
    aio::timer timer_;
    std::string seen_;
    bool ended_ = false;
    bool reset_ = false;
    bool gave_up_ = false;
};

} // namespace sluice::net::test
