// The whole front end in process: what a host sends on one connection, a real gateway behind it and
// an upstream that echoes. Every complete request gets exactly one well-formed answer; what is no
// request gets one of 4xx and the connection's end; nothing hangs; all of it ends when it is told.
// "$SID" in an input stands for the id of a session that is open.
#include "app/runtime.hpp"
#include "check.hpp"
#include "net/http_server.hpp"
#include "request_reader.hpp"
#include "sys/log.hpp"
#include "wire/message.hpp"
#include "wire/sse.hpp"

#include <arpa/inet.h>
#include <csignal>
#include <memory>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace sluice;
using namespace sluice::net;

namespace {

constexpr auto patience = std::chrono::seconds(5);
constexpr int inputs_of_a_life = 300; // sessions pile up; a gateway's end is worth a look as well

constexpr std::string_view greeting =
    R"({"protocolVersion":"2025-11-25","serverInfo":{"name":"up","version":"1"},"capabilities":)"
    R"({"tools":{},"prompts":{},"resources":{"subscribe":true},"logging":{},"completions":{}}})";

std::string result_of(const wire::message& m) {
    if (m.method_is("initialize")) return std::string(greeting);
    if (m.method_is("tools/list")) return R"({"tools":[{"name":"t","inputSchema":{}}]})";
    if (m.method_is("prompts/list")) return R"({"prompts":[{"name":"p"}]})";
    if (m.method_is("resources/list")) return R"({"resources":[{"uri":"r:1","name":"r"}]})";
    if (m.method_is("resources/templates/list")) return R"({"resourceTemplates":[]})";
    return R"({"content":[],"params":)" +
           std::string(m.params.present() ? m.view(m.params) : "null") + "}";
}

aio::task<> upstream_answers(exchange& http) {
    response out;
    out.status = http.head().method == "POST" ? 202 : 405;
    auto body = co_await http.read_body();
    auto message = wire::parse_message(body ? *body : std::string());
    if (message && message->is_request()) {
        out.status = 200;
        out.headers.add("Content-Type", "application/json");
        if (message->method_is("initialize")) out.headers.add("Mcp-Session-Id", "u");
        out.body = wire::make_result(message->view(message->id), result_of(*message));
    }
    [[maybe_unused]] auto done = co_await http.respond(std::move(out));
}

struct answer {
    int status = 0;
    bool closes = false;
    bool whole = false; // an event stream that goes on is not
    bool events = false;
    std::string session;
};

// Reads answers from what came so far; what is no HTTP ends the run.
class answer_reader {
public:
    explicit answer_reader(std::vector<std::string> methods) : methods_(std::move(methods)) {}

    void feed(std::string_view bytes) {
        text_ += bytes;
        while (step()) {
        }
    }
    const std::vector<answer>& all() const { return all_; }
    bool inside_one() const { return !all_.empty() && !all_.back().whole; }
    bool has_rest() const { return !text_.empty(); }

private:
    bool step() {
        if (inside_one()) return take_body();
        head_scanner scanner;
        auto scanned = text_.empty() ? head_state::incomplete : scanner.scan(text_);
        CHECK(scanned != head_state::malformed);
        if (scanned != head_state::complete) return false;
        bool to_head = all_.size() < methods_.size() && methods_[all_.size()] == "HEAD";
        auto parsed = parse_response_head(text_.substr(0, scanner.size()), to_head);
        CHECK(parsed.ok());
        text_.erase(0, scanner.size());
        const auto& head = parsed->head;
        if (head.status == 100) return true;
        CHECK(head.status >= 200 && head.status < 600);
        CHECK(parsed->body.kind != body_kind::until_close || !parsed->keep_alive);
        answer out;
        out.status = head.status;
        out.closes = !parsed->keep_alive;
        out.session = head.headers.get("Mcp-Session-Id").value_or("");
        type_ = head.headers.get("Content-Type").value_or("");
        out.events = type_ == "text/event-stream";
        body_ = parsed->body;
        chunks_ = {};
        content_.clear();
        all_.push_back(out);
        return true;
    }

    bool take_body() {
        bool done = false;
        if (body_.kind == body_kind::chunked) {
            text_.erase(0, chunks_.feed(text_, content_));
            CHECK(!chunks_.failed());
            done = chunks_.done();
        } else {
            bool counted = body_.kind == body_kind::length;
            auto size = body_.kind == body_kind::none ? 0 : text_.size();
            if (counted) size = std::min<std::size_t>(size, body_.length);
            content_ += text_.substr(0, size);
            text_.erase(0, size);
            body_.length -= counted ? size : 0;
            done = body_.kind == body_kind::none || (counted && body_.length == 0);
        }
        if (!done) return false;
        all_.back().whole = true;
        check_content();
        return true;
    }

    void check_content() const {
        if (type_ == "application/json") CHECK(content_.empty() || wire::validate(content_).ok());
        if (type_ != "text/event-stream") return;
        wire::sse_decoder events(1 << 20);
        events.feed(content_);
        while (auto event = events.next())
            CHECK(event->data.empty() || wire::validate(event->data).ok());
        CHECK(events.held() == 0);
    }

    std::vector<std::string> methods_;
    std::string text_;
    std::vector<answer> all_;
    framing body_;
    chunk_decoder chunks_;
    std::string content_;
    std::string type_;
};

class line {
public:
    explicit line(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(port);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        CHECK(fd_ >= 0);
        // Lets the port be used again at once: thousands of connections a second.
        linger hard{1, 0};
        ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
        CHECK(::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0);
    }
    line(const line&) = delete;
    line& operator=(const line&) = delete;
    ~line() { ::close(fd_); }

    void send(std::string_view bytes) {
        [[maybe_unused]] auto sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
    // Nothing when nothing is there; `closed` at the end.
    std::string receive(bool& closed) {
        char piece[16 * 1024];
        auto got = ::recv(fd_, piece, sizeof(piece), MSG_DONTWAIT);
        if (got > 0) return {piece, static_cast<std::size_t>(got)};
        closed = got == 0 || (errno != EAGAIN && errno != EINTR);
        return {};
    }

private:
    int fd_;
};

class world {
public:
    world() : up_(loop_, deadlines_, {}, upstream_answers) {
        CHECK(up_.listen("127.0.0.1:0").ok());
        app::settings all;
        all.front.listen = "127.0.0.1:0";
        all.front.admin_listen.clear();
        all.front.sse_after = std::chrono::milliseconds(5'000);
        all.session.max_sessions = all.session.sessions_per_key = 100'000;
        all.gateway.salt_keys.emplace_back("a salt of at least thirty-two bytes, really");
        upstream::server_settings server;
        server.name = "up";
        server.url = "http://127.0.0.1:" + std::to_string(up_.port()) + "/mcp";
        all.upstream.servers.push_back(std::move(server));
        gateway_ = std::make_unique<app::runtime>(loop_, std::move(all), std::string());
        CHECK(gateway_->start().ok());
        auto url = parse_url(gateway_->endpoint());
        CHECK(url.ok());
        port_ = url->port;
        open_session(); // also waits until the upstream is known
    }

    ~world() {
        bool over = false;
        aio::nursery ending(loop_.get_executor(), "fuzz");
        ending.spawn(end(*this, over));
        auto until = aio::clock::now() + patience;
        while (!over && aio::clock::now() < until)
            loop_.run_one_for(std::chrono::milliseconds(10));
        CHECK(over);
        loop_.poll();
    }

    std::string open_session() {
        std::string body =
            R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":)"
            R"("2025-11-25","capabilities":{},"clientInfo":{"name":"f","version":"1"}}})";
        std::string head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json"
                           "\r\nAccept: application/json, text/event-stream\r\nContent-Length: ";
        auto got = talk(head + std::to_string(body.size()) + "\r\n\r\n" + body, 0);
        CHECK(got.size() == 1 && got[0].status == 200 && !got[0].session.empty());
        return got[0].session;
    }

    // Sends the bytes, whole or in two pieces, and sees every answer to its end.
    std::vector<answer> talk(std::string_view bytes, std::size_t split) {
        fuzz::reader requests;
        requests.feed(bytes);
        const auto& sent = requests.out();
        std::vector<std::string> methods;
        for (const auto& one : sent.messages)
            methods.push_back(one.head.substr(0, one.head.find(' ')));
        line host(port_);
        answer_reader answers(std::move(methods));
        split = std::min(split, bytes.size());
        host.send(bytes.substr(0, split));
        if (split > 0) loop_.run_for(std::chrono::microseconds(200));
        host.send(bytes.substr(split));
        bool closed = false;
        auto until = aio::clock::now() + patience;
        for (;;) {
            loop_.poll();
            answers.feed(host.receive(closed));
            if (closed || is_over(sent, answers)) break;
            CHECK(aio::clock::now() < until); // somebody waits for an answer that never comes
            loop_.run_one_for(std::chrono::milliseconds(1));
        }
        check(sent, answers, closed);
        return answers.all();
    }

private:
    static aio::task<> end(world& w, bool& over) {
        co_await aio::keep_running_when_cancelled();
        co_await w.gateway_->drain();
        co_await w.up_.drain(std::chrono::seconds(1));
        over = true;
    }

    // Whether nothing more is owed: a stream that a GET opened goes on for ever.
    static bool is_over(const fuzz::outcome& sent, const answer_reader& answers) {
        if (answers.inside_one() && answers.all().back().events) {
            auto at = answers.all().size() - 1;
            return at < sent.messages.size() && sent.messages[at].head.starts_with("GET ");
        }
        return !sent.refused && answers.all().size() >= sent.messages.size() &&
               !answers.inside_one();
    }

    static void check(const fuzz::outcome& sent, const answer_reader& answers, bool closed) {
        const auto& all = answers.all();
        CHECK(all.size() <= sent.messages.size() + 1);
        CHECK(!answers.has_rest() || !closed);
        // One answer more than there were requests tells what was wrong with the rest.
        if (all.size() > sent.messages.size()) CHECK(all.back().status >= 400);
        if (!closed) return;
        CHECK(!all.empty());
        CHECK(all.back().closes && all.back().whole);
        bool to_the_end = all.size() > sent.messages.size() || !sent.refused;
        if (to_the_end && sent.refused) CHECK(all.back().status < 500 || all.back().status == 505);
    }

    aio::loop loop_{1};
    aio::deadlines deadlines_{loop_.get_executor()};
    http_server up_;
    std::unique_ptr<app::runtime> gateway_;
    std::uint16_t port_ = 0;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static std::unique_ptr<world> now;
    static int inputs = 0;
    if (size < 1) return 0;
    if (!now || ++inputs % inputs_of_a_life == 0) {
        std::signal(SIGPIPE, SIG_IGN);
        sys::configure_log({sys::log_level::off, sys::log_format::json});
        now.reset();
        now = std::make_unique<world>();
    }
    std::string bytes(reinterpret_cast<const char*>(data + 1), size - 1);
    constexpr std::string_view place = "$SID";
    std::string session;
    for (auto at = bytes.find(place); at != bytes.npos; at = bytes.find(place, at)) {
        if (session.empty()) session = now->open_session();
        bytes.replace(at, place.size(), session);
    }
    if (bytes.empty()) return 0;
    now->talk(bytes, data[0] % 4 == 0 ? data[0] : 0);
    return 0;
}
