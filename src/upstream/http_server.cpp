#include "upstream/http_server.hpp"

#include <algorithm>

namespace sluice::upstream {

namespace {

constexpr auto verdict_holds = std::chrono::minutes(10);

// What a server of the older transport answers to an initialize that is POSTed to its stream's URL.
bool may_be_older(const base::fault& why) {
    return why.code == base::errc::upstream_error &&
           (why.http_status == 400 || why.http_status == 404 || why.http_status == 405);
}

} // namespace

http_server::http_server(std::shared_ptr<core> shared, std::shared_ptr<net::http_pool> pool)
    : core_(std::move(shared)), pool_(std::move(pool)) {}

aio::task<http_server::opened> http_server::open(open_request request) {
    auto admitted = core_->admit();
    if (!admitted) co_return admitted.error();
    auto latest = aio::clock::now() + core_->settings.initialize_timeout;
    request.until = std::min(request.until, latest);
    bool asks = request.adopt.empty();
    auto made = co_await open_either(std::move(request));
    if (made && asks) {
        core_->note_success();
    } else if (!made) {
        core_->note(made.error());
    }
    co_return made;
}

aio::task<http_server::opened> http_server::open_either(open_request request) {
    bool older = core_->settings.kind == transport::sse || aio::clock::now() < only_sse_until_;
    if (older) {
        auto made = co_await open_sse(std::move(request));
        if (!made) only_sse_until_ = {};
        co_return made;
    }
    auto session = std::make_shared<http_session>(core_, pool_, request);
    if (!request.adopt.empty()) {
        auto taken = session->adopt(request.adopt);
        if (!taken) co_return taken.error();
        co_return std::shared_ptr<link>(std::move(session));
    }
    auto done = co_await session->open(request.until);
    if (done) {
        speaks_sse_ = false;
        co_return std::shared_ptr<link>(std::move(session));
    }
    if (!may_be_older(done.error())) co_return done.error();
    auto made = co_await open_sse(std::move(request));
    if (!made) co_return done.error(); // not older then; the first answer tells more
    only_sse_until_ = aio::clock::now() + verdict_holds;
    core_->say("speaks only the HTTP+SSE transport of 2024-11-05");
    co_return made;
}

aio::task<http_server::opened> http_server::open_sse(open_request request) {
    auto session = std::make_shared<sse_session>(core_, pool_, request.headers);
    std::erase_if(streams_, [](const auto& one) { return one.expired(); });
    streams_.push_back(session);
    auto done = co_await session->start(std::move(request));
    if (!done) co_return done.error();
    speaks_sse_ = true;
    co_return std::shared_ptr<link>(std::move(session));
}

server_status http_server::status() const {
    auto out = core_->numbers;
    auto of_pool = pool_->count();
    out.circuit = core_->health.state();
    out.consecutive_failures = core_->health.failures();
    out.connects = of_pool.connects;
    out.reuses = of_pool.reuses;
    out.bytes_in = of_pool.bytes_in;
    out.bytes_out = of_pool.bytes_out;
    return out;
}

aio::task<> http_server::shut_down() {
    core_->stopped = true;
    for (auto& one : streams_) {
        auto session = one.lock();
        if (session) co_await session->close();
    }
    core_->streams.stop();
    core_->helpers.stop();
    co_await core_->streams.join();
    co_await core_->helpers.join();
}

} // namespace sluice::upstream
