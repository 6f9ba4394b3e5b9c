// The state of a pool, and one answer being read from one of its connections. Internal to net.
#pragma once

#include "net/chunks.hpp"
#include "net/client_link.hpp"
#include "net/http_client.hpp"
#include "net/http_parse.hpp"

#include <deque>
#include <memory>
#include <optional>
#include <string>

namespace sluice::net {

struct http_pool::state : std::enable_shared_from_this<http_pool::state> {
    state(aio::loop& loop, aio::deadlines& deadlines, url origin, client_settings settings);

    struct resting {
        std::unique_ptr<client_link> line;
        aio::instant until;
    };

    std::unique_ptr<client_link> take_idle();
    void
    give_back(std::unique_ptr<client_link> line, std::optional<std::string_view> keep_alive_hint);
    void sweep();
    void close();
    aio::task<base::result<std::unique_ptr<client_link>>> connect(aio::instant until);

    aio::loop& loop;
    aio::deadlines& deadlines;
    url origin;
    std::string authority;
    client_settings settings;
    std::shared_ptr<tls_context> tls;
    std::deque<resting> idle;         // the one used last is last
    std::weak_ptr<lookup> looking_up; // under way, for whoever connects meanwhile
    aio::deadlines::guard sweeper;
    counters count;
    std::string scratch; // for heads; never kept across an await
    bool closed = false;
};

class response_reader final : public client_response {
public:
    response_reader(std::shared_ptr<http_pool::state> pool, std::unique_ptr<client_link> line);
    ~response_reader() override;

    // Writes the request; read_head comes next.
    aio::task<base::result<void>>
    start(const client_request& request, aio::instant until, bool& wrote);
    aio::task<base::result<void>> read_head(aio::instant until) override;
    const response_head& head() const override { return parsed_.head; }
    aio::task<base::result<std::string>> read_some(aio::instant until) override;
    bool done() const override { return done_; }
    void cancel() override;
    void nudge() override;
    void go_on() override { cancelled_ = false; }

private:
    aio::task<base::result<void>> send(const client_request& request, bool& wrote);
    aio::task<base::result<void>> scan_head();
    base::result<std::string> take_buffered();
    aio::task<base::result<std::string>> wait_for_some();
    base::fault fail(base::fault why);
    void finish(bool reusable);

    std::shared_ptr<http_pool::state> pool_;
    std::unique_ptr<client_link> line_; // null when given back or dropped
    parsed_response parsed_;
    chunk_decoder chunks_;
    std::optional<base::fault> failure_;
    std::optional<base::fault> send_failure_; // the peer may have answered all the same
    bool to_head_ = false;
    bool has_head_ = false;
    bool done_ = false;
    bool cancelled_ = false;
};

} // namespace sluice::net
