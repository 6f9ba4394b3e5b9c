// One accepted connection: reads request after request and is the exchange its handler sees.
// Internal to net; made by http_server.cpp. Its coroutine owns it; a pending watch shares it.
#pragma once

#include "aio/channel.hpp"
#include "aio/deadlines.hpp"
#include "aio/nursery.hpp"
#include "net/chunks.hpp"
#include "net/http_parse.hpp"
#include "net/http_server.hpp"
#include "net/http_write.hpp"
#include "net/read_buffer.hpp"
#include "net/socket.hpp"

#include <list>
#include <memory>
#include <string>

namespace sluice::net {

class connection;

// The name of a setting behind what it bounds: " (limits.headers)".
inline std::string in_brackets(std::string_view setting) {
    return setting.empty() ? std::string() : " (" + std::string(setting) + ")";
}

// What all connections of one server share; lives in http_server::state.
struct server_core {
    server_core(
        aio::loop& loop,
        aio::deadlines& clock_list,
        http_limits limits_,
        http_server::handler serve_
    )
        : deadlines(clock_list), limits(limits_), serve(std::move(serve_)),
          crew(loop.get_executor(), "net"), changed(loop.get_executor()) {}

    aio::deadlines& deadlines;
    http_limits limits;
    http_server::handler serve;
    std::function<void(const turned_away&)> tell; // of refusals; may be empty
    http_server_counters counters;
    std::list<connection*> connections;
    aio::nursery crew;
    aio::signal_flag changed; // woken when a connection has ended
    date_line date;
    std::string scratch; // for heads; never kept across an await
    bool stopping = false;
};

class connection final : public exchange, public std::enable_shared_from_this<connection> {
public:
    connection(server_core& core, tcp_socket socket, const asio::ip::tcp::endpoint& peer);

    // Counts and lists this connection; run() undoes it.
    void begin();
    static aio::task<> run(std::shared_ptr<connection> self);
    bool idle() const { return idle_; }
    void close(); // at once; every wait on the socket ends

    const request_head& head() const override { return request_.head; }
    std::string_view peer_address() const override { return peer_; }
    aio::instant arrived() const override { return arrived_; }
    void forget_head() override { request_.head = {}; }
    aio::task<base::result<std::string>> read_body() override;
    aio::task<base::result<void>> respond(response answer) override;
    aio::task<base::result<void>> start_stream(response_head head) override;
    aio::task<base::result<void>> write(std::string bytes) override;
    aio::task<base::result<void>> finish() override;
    void on_peer_gone(std::function<void()> gone) override;
    bool has_left() override { return peek(socket_) == peek_state::ended; }
    bool responded() const override { return answer_ != answer_state::none; }

private:
    enum class answer_state : std::uint8_t { none, streaming, whole };
    enum class request_state : std::uint8_t { ready, refused, ended };

    void end() noexcept;
    aio::task<> serve_requests();
    // A request to serve; or one that was answered here (refusal_); or no more requests.
    aio::task<request_state> next_request();
    request_state take_head();
    // The answer; and whoever wants to know is told of it.
    response refusal(int status, std::string_view reason, const std::string& why);
    request_state refuse(int status, std::string_view reason, const std::string& why);
    aio::task<> answer_refusal();
    aio::task<std::size_t> read_more(std::size_t least); // 0: ended; see read_error_

    aio::task<base::result<std::string>> read_sized(std::size_t size);
    aio::task<base::result<std::string>> read_chunked();
    base::fault read_fault() const;
    void settle_body();

    aio::task<base::result<void>> send(pieces what);
    base::result<void> send_failed(const aio::error_code& error);
    void watch();
    void on_readable();
    aio::task<> linger();

    server_core& core_;
    tcp_socket socket_;
    read_buffer in_;
    aio::deadlines::guard guard_;
    std::list<connection*>::iterator place_;
    parsed_request request_;
    std::function<void()> gone_;
    std::string peer_;
    response refusal_;
    head_scanner scanner_;
    aio::instant arrived_{};
    aio::error_code read_error_;
    answer_state answer_ = answer_state::none;
    bool registered_ = false;
    bool first_ = true;
    bool bodiless_ = false; // the answer to a HEAD
    bool idle_ = false;
    bool keep_ = true;        // another request may follow
    bool body_taken_ = false; // read_body was called
    bool body_done_ = true;   // nothing of the body is left on the wire
    bool broken_ = false;     // a write failed: nothing more is written
    bool watching_ = false;   // an async_wait is outstanding
};

} // namespace sluice::net
