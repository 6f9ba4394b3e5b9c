// The standing stream of one Streamable HTTP session: a GET that carries what belongs to no call.
// Opened in the background, opened again with a growing pause and Last-Event-ID when it ends; an
// upstream that has none (405) is left alone. Spec: "Listening for Messages from the Server".
#pragma once

#include "aio/channel.hpp"
#include "net/http_client.hpp"
#include "upstream/http_session.hpp"
#include "wire/sse.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace sluice::upstream {

class http_listener : public std::enable_shared_from_this<http_listener> {
public:
    http_listener(const std::shared_ptr<http_session>& of, std::shared_ptr<core> shared);

    void start();
    // Another replica had one before: what came in between was missed.
    void count_as_stood() { stood_ = true; }
    // The session has a new id: its stream is another one.
    void restart();
    void stop();

private:
    using self = std::shared_ptr<http_listener>;
    enum class verdict : std::uint8_t { again, no_use };

    static aio::task<> run(self me);
    aio::task<verdict> listen_once();
    aio::task<verdict> judge(int status, std::uint64_t generation);
    aio::task<> read_events();
    void take(wire::sse_event event, const std::shared_ptr<const void>& held);
    aio::duration wait() const;
    bool is_behind() const;
    bool over() const { return stopped_ || core_->stopped || of_.expired(); }

    std::weak_ptr<http_session> of_; // its end ends this
    std::shared_ptr<core> core_;
    std::unique_ptr<net::client_response> response_;
    std::string last_event_id_;
    std::uint32_t retry_ms_ = 1'000;
    std::uint32_t fruitless_ = 0; // streams and tries in a row that brought nothing
    aio::signal_flag woken_;
    bool running_ = false;
    bool stopped_ = false;
    bool stood_ = false; // a stream of this session stood before
};

} // namespace sluice::upstream
