// How the demo upstream answers over HTTP: JSON when the first thing to say is the response, else a
// stream of events; and the small tests of a request's head. Used by `http`.
#pragma once

#include "app/demo/session.hpp"
#include "net/http_server.hpp"

#include <string>
#include <string_view>

namespace sluice::app::demo {

class http_outlet final : public outlet {
public:
    // `responses` is how many will come (a batch has several); `stream` = never plain JSON.
    http_outlet(net::exchange& ex, std::size_t responses, bool stream)
        : exchange_(ex), left_(responses), wants_stream_(stream) {}

    std::string session_id; // sent with the answer to initialize

    aio::task<> note(std::string message) override;
    aio::task<> finish(std::string response) override;
    aio::task<> finish_cancelled() override;

private:
    aio::task<> open();
    aio::task<> event(std::string message);
    aio::task<> close_if_last();

    net::exchange& exchange_;
    std::size_t left_;
    bool wants_stream_;
    bool streaming_ = false;
    bool gone_ = false;
};

// The head of an answer that is a stream of events.
net::response_head stream_head();
net::response plain(int status, std::string_view text);
net::response rpc_error(int status, int code, std::string_view text, std::string_view id = "null");
// The JSON-RPC code and 400 for a message that parse_message refused.
net::response refused_message(const base::fault& why, std::string_view id);

// "localhost:8080", "[::1]:8080" or an origin: the demo serves this machine only.
bool is_loopback(std::string_view authority);
bool accepts(const net::request_head& head, std::string_view type);

} // namespace sluice::app::demo
