#include "aio/nursery.hpp"
#include "app/demo/session.hpp"
#include "app/demo/upstream.hpp"
#include "wire/lines.hpp"
#include "wire/message.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <array>
#include <cerrno>
#include <cstdio>
#include <string>
#include <unistd.h>
#include <vector>

namespace sluice::app {

namespace {

using descriptor = aio::asio::posix::basic_stream_descriptor<aio::executor>;

constexpr std::size_t max_line = 64 * 1024 * 1024;

// One message, one line. A far end that reads slowly slows us: that is what pipes are for.
void write_line(std::string message) {
    wire::flatten(message);
    message += '\n';
    std::string_view rest = message;
    while (!rest.empty()) {
        auto written = ::write(STDOUT_FILENO, rest.data(), rest.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return; // the far end has gone; our input ends too
        rest.remove_prefix(static_cast<std::size_t>(written));
    }
}

class line_outlet final : public demo::outlet {
public:
    // Responses go into `collected` when there is one (a batch), else out at once.
    explicit line_outlet(std::string* collected = nullptr) : collected_(collected) {}

    aio::task<> note(std::string message) override {
        write_line(std::move(message));
        co_return;
    }
    aio::task<> finish(std::string response) override {
        if (collected_ == nullptr)
            write_line(std::move(response));
        else
            *collected_ += (collected_->empty() ? "" : ",") + response;
        co_return;
    }
    aio::task<> finish_cancelled() override { co_return; }

private:
    std::string* collected_;
};

class stdio_site {
public:
    stdio_site(aio::loop& loop, demo::options wanted)
        : core_(loop.get_executor(), wanted), calls_(loop.get_executor(), "demo"), in_(loop) {}

    aio::task<> run();

private:
    aio::task<> answer(wire::message m);
    aio::task<> batch(std::vector<wire::message> requests);
    void line(std::string text);
    void take_batch(const std::string& text);

    demo::session core_;
    aio::nursery calls_;
    descriptor in_;
};

aio::task<> stdio_site::answer(wire::message m) {
    line_outlet out;
    co_await core_.request(std::move(m), out);
}

aio::task<> stdio_site::batch(std::vector<wire::message> requests) {
    std::string responses;
    line_outlet out(&responses);
    for (auto& m : requests)
        co_await core_.request(std::move(m), out);
    if (!responses.empty()) write_line("[" + responses + "]");
}

void stdio_site::take_batch(const std::string& text) {
    auto parts = wire::split_batch(text);
    std::vector<wire::message> requests;
    bool sound = parts.ok();
    for (std::size_t i = 0; sound && i < parts->size(); ++i) {
        auto m = wire::parse_message((*parts)[i]);
        sound = m.ok() && !m->method_is("initialize");
        if (!sound) break;
        if (m->is_request())
            requests.push_back(std::move(*m));
        else
            core_.take(*m);
    }
    if (!sound) {
        write_line(wire::make_error("null", -32600, "not a batch of messages"));
        return;
    }
    calls_.spawn(batch(std::move(requests)));
}

void stdio_site::line(std::string text) {
    if (core_.revision() == "2025-03-26" && wire::looks_like_batch(text)) {
        take_batch(text);
        return;
    }
    std::string id = "null";
    auto m = wire::parse_message(std::move(text), wire::json_limits(), &id);
    if (!m) {
        int code = m.error().code == base::errc::parse_error      ? -32700
                   : m.error().code == base::errc::invalid_params ? -32602
                                                                  : -32600;
        write_line(wire::make_error(id.empty() ? "null" : id, code, m.error().message));
        return;
    }
    if (m->is_request())
        calls_.spawn(answer(std::move(*m)));
    else
        core_.take(*m);
}

aio::task<> stdio_site::run() {
    co_await aio::keep_running_when_cancelled();
    aio::error_code plain_file; // epoll refuses those; they can be read at any time
    in_.assign(::dup(STDIN_FILENO), plain_file);
    wire::line_splitter lines(max_line);
    std::array<char, 64 * 1024> buffer;
    for (;;) {
        // Waits, then reads what is there: the descriptor may be shared, so it stays blocking.
        if (!plain_file) {
            auto [failed] = co_await in_.async_wait(descriptor::wait_read, aio::nothrow);
            if (failed) break;
        }
        auto count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        lines.feed(std::string_view(buffer.data(), static_cast<std::size_t>(count)));
        while (auto one = lines.next())
            line(std::move(*one));
        if (lines.too_big()) break;
    }
    // A request that came before the end of input is answered, if that takes no time.
    co_await aio::asio::post(aio::awaiting());
    core_.cancel_everything();
    co_await calls_.join();
}

} // namespace

int demo_over_stdio(demo::options wanted) {
    aio::loop loop(1);
    stdio_site site(loop, wanted);
    aio::nursery top(loop.get_executor(), "demo");
    top.spawn(site.run());
    loop.run();
    return 0;
}

} // namespace sluice::app
