// The load of the bench: N hosts on kept connections, each with its own MCP session, on one epoll
// loop.
//     bench-load calls HOST PORT PATH CONNECTIONS SECONDS json|sse TOOL
//         calls as fast as answers come; each answer's id, token and content are checked; one JSON
//         line
//     bench-load idle HOST PORT PATH SESSIONS touch|untouched
//         opens sessions with a GET stream each, prints "ready", holds them until its input ends

#include "wire.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace {

using namespace bench;

enum class step { initialize, initialized, touch, calling, listening };

struct host {
    int fd = -1;
    step at = step::initialize;
    std::string in;
    std::string body;
    std::string session;
    std::uint64_t sent_at = 0;
    std::uint64_t id = 0;
    bool open = false; // its GET stream has begun
};

struct plan {
    std::string address;
    std::uint16_t port = 0;
    std::string path;
    std::size_t count = 0;
    double seconds = 0;
    bool stream = false;
    bool idle = false;
    bool touch = false;
    std::string tool;
} todo;

int poller = -1;
std::vector<host> hosts;
std::vector<std::uint32_t> latencies; // microseconds × 10
std::uint64_t notes = 0;
std::uint64_t fewest_notes = ~0ULL;
std::uint64_t errors = 0;
std::size_t listening = 0;
std::uint64_t measuring_from = 0;
std::uint64_t measuring_until = 0;

[[noreturn]] void fail(const host& h, const char* why) {
    std::fprintf(stderr, "%s\nafter: %.600s\n%.600s\n", why, h.in.c_str(), h.body.c_str());
    std::exit(1);
}

void send_all(host& h, const std::string& data) {
    const auto n = send(h.fd, data.data(), data.size(), MSG_NOSIGNAL);
    if (n != static_cast<ssize_t>(data.size())) fail(h, "a request did not fit the socket");
}

void post(host& h, const std::string& body) {
    std::string out =
        "POST " + todo.path + " HTTP/1.1\r\nHost: " + todo.address + ":" +
        std::to_string(todo.port) +
        "\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";
    if (!h.session.empty())
        out += "Mcp-Session-Id: " + h.session + "\r\nMCP-Protocol-Version: 2025-11-25\r\n";
    out += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    send_all(h, out);
}

void call(host& h) {
    const auto id = std::to_string(++h.id);
    std::string body = R"({"jsonrpc":"2.0","id":)" + id +
                       R"(,"method":"tools/call","params":{"name":")" + todo.tool +
                       R"(","arguments":{"a":1})";
    if (todo.stream) body += R"(,"_meta":{"progressToken":"t)" + id + "\"}";
    h.sent_at = now_ns();
    post(h, body + "}}");
}

void listen(host& h) {
    h.at = step::listening;
    send_all(
        h,
        "GET " + todo.path + " HTTP/1.1\r\nHost: " + todo.address + ":" +
            std::to_string(todo.port) + "\r\nAccept: text/event-stream\r\nMcp-Session-Id: " +
            h.session + "\r\nMCP-Protocol-Version: 2025-11-25\r\n\r\n"
    );
}

std::size_t count(std::string_view text, std::string_view word) {
    std::size_t n = 0;
    for (auto at = text.find(word); at != std::string_view::npos;
         at = text.find(word, at + word.size()))
        ++n;
    return n;
}

// The answer must carry our id, and for a stream our token on every note, before the result.
void check(host& h) {
    const auto id = std::to_string(h.id);
    const auto response = h.body.rfind("\"id\":" + id + ",");
    const bool right = response != std::string::npos &&
                       h.body.find("9007199254740993", response) != std::string::npos &&
                       h.body.find("\"error\"") == std::string::npos;
    if (!right) {
        if (++errors == 1) std::fprintf(stderr, "a wrong answer: %.600s\n", h.body.c_str());
        return;
    }
    if (!todo.stream) return;
    const auto seen = count(h.body, "notifications/progress");
    if (count(h.body, "\"progressToken\":\"t" + id + "\"") != seen) ++errors;
    notes += seen;
    fewest_notes = std::min<std::uint64_t>(fewest_notes, seen);
}

void answered(host& h, std::string_view head) {
    switch (h.at) {
    case step::initialize:
        if (const auto session = header(head, "mcp-session-id")) h.session = *session;
        if (h.session.empty()) fail(h, "initialize gave no session");
        h.at = step::initialized;
        return post(h, R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
    case step::initialized:
        if (!head.starts_with("HTTP/1.1 202")) fail(h, "initialized was not accepted");
        if (todo.idle && !todo.touch) return listen(h);
        h.at = todo.idle ? step::touch : step::calling;
        return call(h);
    case step::touch:
        check(h);
        return listen(h);
    case step::calling: {
        check(h);
        const auto now = now_ns();
        if (now >= measuring_from && now < measuring_until)
            latencies.push_back(static_cast<std::uint32_t>((now - h.sent_at) / 100));
        return call(h);
    }
    case step::listening:
        fail(h, "a stream that should stay open ended");
    }
}

// True when a whole answer was taken from the buffer.
bool take(host& h) {
    const auto m = parse_head(h.in);
    if (!m) return false;
    if (h.at == step::listening) {
        if (!m->head.starts_with("HTTP/1.1 200")) fail(h, "no stream");
        ++listening;
        h.open = true;
        h.in.clear();
        h.in.shrink_to_fit();
        return false;
    }
    h.body.clear();
    std::size_t used = m->head_size;
    if (m->chunked) {
        if (!take_chunks(h.in, used, h.body)) return false;
    } else {
        if (h.in.size() < used + m->length) return false;
        h.body.assign(h.in, used, m->length);
        used += m->length;
    }
    const std::string head(m->head);
    h.in.erase(0, used);
    answered(h, head);
    return true;
}

void receive(host& h) {
    char buffer[65536];
    const auto n = recv(h.fd, buffer, sizeof buffer, 0);
    if (n == 0) fail(h, "the connection was closed");
    if (n < 0) {
        if (errno == EAGAIN) return;
        die("recv");
    }
    if (h.open) return; // comments that keep it alive
    h.in.append(buffer, static_cast<std::size_t>(n));
    while (take(h)) {
    }
}

void open_host(std::size_t index) {
    auto& h = hosts[index];
    // One source address has about 28 000 ports towards one target; change it before they run
    // short.
    h.fd = connect_to(todo.address, todo.port, "127.0.0." + std::to_string(1 + index / 20'000));
    epoll_event event{.events = EPOLLOUT, .data = {.u64 = index}};
    epoll_ctl(poller, EPOLL_CTL_ADD, h.fd, &event);
}

void begin(host& h, std::size_t index) {
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(h.fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) {
        errno = error;
        die("connect");
    }
    epoll_event event{.events = EPOLLIN, .data = {.u64 = index}};
    epoll_ctl(poller, EPOLL_CTL_MOD, h.fd, &event);
    post(
        h,
        R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},)"
        R"("clientInfo":{"name":"bench","version":"1"}}})"
    );
}

void turn(int timeout_ms) {
    epoll_event events[256];
    const int n = epoll_wait(poller, events, 256, timeout_ms);
    for (int i = 0; i < n; ++i) {
        auto& h = hosts[events[i].data.u64];
        if ((events[i].events & EPOLLOUT) != 0U) {
            begin(h, events[i].data.u64);
        } else {
            receive(h);
        }
    }
}

double quantile(double q) {
    if (latencies.empty()) return 0;
    const auto at = static_cast<std::size_t>(q * static_cast<double>(latencies.size() - 1));
    std::nth_element(
        latencies.begin(), latencies.begin() + static_cast<std::ptrdiff_t>(at), latencies.end()
    );
    return latencies[at] / 10.0;
}

int run_calls() {
    latencies.reserve(1 << 20);
    for (std::size_t i = 0; i < todo.count; ++i)
        open_host(i);
    const auto span = static_cast<std::uint64_t>(todo.seconds * 1e9);
    measuring_from = now_ns() + span / 5; // the first part warms up
    measuring_until = measuring_from + span;
    while (now_ns() < measuring_until)
        turn(10);
    const double rate = static_cast<double>(latencies.size()) / todo.seconds;
    const auto p50 = quantile(0.5);
    const auto p99 = quantile(0.99);
    std::uint64_t total = 0;
    for (const auto& h : hosts)
        total += h.id;
    std::printf(
        R"({"requests":%zu,"sent":%llu,"rate":%.1f,"p50_us":%.1f,"p99_us":%.1f,"errors":%llu,"notes":%llu,"fewest_notes":%llu})"
        "\n",
        latencies.size(),
        static_cast<unsigned long long>(total),
        rate,
        p50,
        p99,
        static_cast<unsigned long long>(errors),
        static_cast<unsigned long long>(notes),
        static_cast<unsigned long long>(fewest_notes == ~0ULL ? 0 : fewest_notes)
    );
    return errors == 0 && !latencies.empty() ? 0 : 1;
}

int run_idle() {
    // A few at a time, so that the listener's queue never overflows.
    std::size_t opened = 0;
    while (listening < todo.count) {
        while (opened < todo.count && opened < listening + 200)
            open_host(opened++);
        turn(1000);
    }
    std::printf("ready\n");
    std::fflush(stdout);
    char byte = 0;
    while (read(0, &byte, 1) > 0) {
    }
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 7) {
        std::fprintf(stderr, "see the head of load.cpp\n");
        return 2;
    }
    raise_open_files();
    todo.idle = std::string_view(argv[1]) == "idle";
    todo.address = argv[2];
    todo.port = static_cast<std::uint16_t>(std::atoi(argv[3]));
    todo.path = argv[4];
    todo.count = static_cast<std::size_t>(std::atoi(argv[5]));
    if (todo.idle) {
        todo.touch = std::string_view(argv[6]) == "touch";
        todo.tool = "fast";
    } else {
        if (argc < 9) return 2;
        todo.seconds = std::atof(argv[6]);
        todo.stream = std::string_view(argv[7]) == "sse";
        todo.tool = argv[8];
    }
    poller = epoll_create1(EPOLL_CLOEXEC);
    hosts.resize(todo.count);
    return todo.idle ? run_idle() : run_calls();
}
