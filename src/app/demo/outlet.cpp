#include "app/demo/outlet.hpp"

#include "base/text.hpp"
#include "wire/message.hpp"
#include "wire/sse.hpp"

namespace sluice::app::demo {

aio::task<> http_outlet::note(std::string message) {
    co_await open();
    co_await event(std::move(message));
}

aio::task<> http_outlet::finish(std::string response) {
    --left_;
    if (!streaming_ && !wants_stream_) {
        net::response answer;
        answer.headers.add("Content-Type", "application/json");
        if (!session_id.empty()) answer.headers.add("Mcp-Session-Id", session_id);
        answer.body = std::move(response);
        auto sent = co_await exchange_.respond(std::move(answer));
        gone_ = !sent;
        co_return;
    }
    co_await open();
    co_await event(std::move(response));
    co_await close_if_last();
}

aio::task<> http_outlet::finish_cancelled() {
    --left_;
    co_await open(); // nothing more will come: an empty stream says so
    co_await close_if_last();
}

aio::task<> http_outlet::open() {
    if (streaming_ || gone_) co_return;
    streaming_ = true;
    auto head = stream_head();
    if (!session_id.empty()) head.headers.add("Mcp-Session-Id", session_id);
    auto started = co_await exchange_.start_stream(std::move(head));
    gone_ = !started;
}

// A host that has gone has not cancelled: the call goes on, its messages are lost.
aio::task<> http_outlet::event(std::string message) {
    if (gone_) co_return;
    wire::sse_event e;
    e.data = std::move(message);
    std::string text = wire::encode(e);
    auto sent = co_await exchange_.write(std::move(text));
    gone_ = !sent;
}

aio::task<> http_outlet::close_if_last() {
    if (left_ != 0 || gone_) co_return;
    auto done = co_await exchange_.finish();
    gone_ = !done;
}

net::response_head stream_head() {
    net::response_head head;
    head.headers.add("Content-Type", "text/event-stream");
    head.headers.add("Cache-Control", "no-cache");
    head.headers.add("X-Accel-Buffering", "no");
    return head;
}

net::response plain(int status, std::string_view text) {
    net::response answer;
    answer.status = status;
    answer.headers.add("Content-Type", "text/plain; charset=utf-8");
    answer.body = std::string(text) + "\n";
    return answer;
}

net::response rpc_error(int status, int code, std::string_view text, std::string_view id) {
    net::response answer;
    answer.status = status;
    answer.headers.add("Content-Type", "application/json");
    answer.body = wire::make_error(id, code, text);
    return answer;
}

// The host part of "localhost:8080", "[::1]:8080" or of an origin; the demo serves this machine
// only.
bool is_loopback(std::string_view authority) {
    if (auto scheme = authority.find("://"); scheme != std::string_view::npos)
        authority.remove_prefix(scheme + 3);
    auto colon = authority.rfind(':');
    if (colon != std::string_view::npos && authority.find(']', colon) == std::string_view::npos)
        authority = authority.substr(0, colon);
    return base::iequals(authority, "localhost") || authority == "127.0.0.1" ||
           authority == "[::1]";
}

bool accepts(const net::request_head& head, std::string_view type) {
    auto wide = std::string(type.substr(0, type.find('/'))) + "/*";
    for (const auto& [name, value] : head.headers.all()) {
        if (!base::iequals(name, "accept")) continue;
        for (auto part : base::split(value, ',')) {
            auto plain_part = base::trim(part.substr(0, part.find(';')));
            if (base::iequals(plain_part, type) || base::iequals(plain_part, wide) ||
                plain_part == "*/*")
                return true;
        }
    }
    return false;
}

net::response refused_message(const base::fault& why, std::string_view id) {
    int code = why.code == base::errc::parse_error      ? -32700
               : why.code == base::errc::invalid_params ? -32602
                                                        : -32600;
    return rpc_error(400, code, why.message, id.empty() ? "null" : id);
}

} // namespace sluice::app::demo
