// The fast upstream of the bench: a small MCP server on one epoll loop. Tools: `fast` answers about
// 200 bytes of JSON; `stream100` answers with 100 progress notes and the result as SSE, ten notes a
// write.
//     bench-upstream [HOST:]PORT        port 0: any; the port is printed

#include "wire.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <unordered_map>

namespace {

using namespace bench;

struct connection {
    int fd = -1;
    std::string in;
    std::string out; // what the socket did not take at once
    bool wants_write = false;
};

int poller = -1;
std::unordered_map<int, std::unique_ptr<connection>> connections;
std::uint64_t sessions = 0;

constexpr std::string_view initialized =
    R"("result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}})";
constexpr std::string_view listed =
    R"("result":{"tools":[{"name":"fast","description":"answers at once","inputSchema":{"type":"object"}},)"
    R"({"name":"stream100","description":"100 notes, then the answer","inputSchema":{"type":"object"}}]}})";
constexpr std::string_view answered =
    R"("result":{"content":[{"type":"text","text":"the quick brown fox jumps over the lazy dog, and then it does )"
    R"(the same once more for good measure"}],"structuredContent":{"n":9007199254740993,"f":1.10}}})";

void watch(connection& c, bool write) {
    if (c.wants_write == write) return;
    c.wants_write = write;
    epoll_event event{.events = EPOLLIN | (write ? EPOLLOUT : 0U), .data = {.fd = c.fd}};
    epoll_ctl(poller, EPOLL_CTL_MOD, c.fd, &event);
}

void flush(connection& c) {
    while (!c.out.empty()) {
        const auto n = send(c.fd, c.out.data(), c.out.size(), MSG_NOSIGNAL);
        if (n <= 0) break;
        c.out.erase(0, static_cast<std::size_t>(n));
    }
    watch(c, !c.out.empty());
}

void write(connection& c, std::string_view data) {
    if (c.out.empty()) {
        const auto n = send(c.fd, data.data(), data.size(), MSG_NOSIGNAL);
        if (n > 0) data.remove_prefix(static_cast<std::size_t>(n));
    }
    c.out.append(data);
    watch(c, !c.out.empty());
}

void answer_json(connection& c, std::string_view id, std::string_view rest, std::string_view more) {
    std::string body = R"({"jsonrpc":"2.0","id":)";
    body.append(id).append(",").append(rest);
    std::string whole = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
    whole.append(more)
        .append("Content-Length: ")
        .append(std::to_string(body.size()))
        .append("\r\n\r\n");
    write(c, whole.append(body));
}

void add_event(std::string& out, std::string_view data) {
    char size[24];
    const int n = std::snprintf(size, sizeof size, "%zx\r\n", data.size() + 8);
    out.append(size, static_cast<std::size_t>(n)).append("data: ").append(data).append("\n\n\r\n");
}

void answer_stream(connection& c, std::string_view id, std::string_view token) {
    // nginx passes an answer with this header on as it comes, so that it is not measured buffering.
    std::string out =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Accel-Buffering: no\r\n"
        "Transfer-Encoding: chunked\r\n\r\n";
    std::string note;
    for (int i = 1; i <= 100 && !token.empty(); ++i) {
        note.assign(
            R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":)"
        );
        note.append(token)
            .append(R"(,"progress":)")
            .append(std::to_string(i))
            .append(R"(,"total":100}})");
        add_event(out, note);
        if (i % 10 != 0) continue;
        write(c, out);
        out.clear();
    }
    std::string last = R"({"jsonrpc":"2.0","id":)";
    last.append(id).append(",").append(answered);
    add_event(out, last);
    write(c, out.append("0\r\n\r\n"));
}

void answer_post(connection& c, std::string_view body) {
    const auto method = member(body, "method");
    const auto id = member(body, "id");
    if (id.empty() || method.empty())
        return write(c, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
    if (method == "\"initialize\"") {
        char session[64];
        std::snprintf(
            session,
            sizeof session,
            "Mcp-Session-Id: bench-%08x-%llu\r\n",
            static_cast<unsigned>(std::rand()),
            static_cast<unsigned long long>(++sessions)
        );
        return answer_json(c, id, initialized, session);
    }
    if (method == "\"tools/list\"") return answer_json(c, id, listed, "");
    if (method == "\"tools/call\"" && body.find("stream100") != std::string_view::npos)
        return answer_stream(c, id, member(body, "progressToken"));
    if (method == "\"tools/call\"") return answer_json(c, id, answered, "");
    if (method == "\"ping\"") return answer_json(c, id, R"("result":{}})", "");
    answer_json(c, id, R"("error":{"code":-32601,"message":"Method not found"}})", "");
}

void answer(connection& c, std::string_view head, std::string_view body) {
    if (head.starts_with("POST")) return answer_post(c, body);
    if (head.starts_with("GET"))
        return write(
            c,
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: "
            "chunked\r\n\r\n3\r\n:\n\n\r\n"
        );
    write(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
}

// Answers every whole request in the buffer.
void serve(connection& c) {
    std::size_t done = 0;
    std::string chunks;
    while (done < c.in.size()) {
        const auto rest = std::string_view(c.in).substr(done);
        const auto m = parse_head(rest);
        if (!m) break;
        if (m->chunked) {
            std::size_t at = m->head_size;
            chunks.clear();
            if (!take_chunks(rest, at, chunks)) break;
            answer(c, m->head, chunks);
            done += at;
            continue;
        }
        if (rest.size() < m->head_size + m->length) break;
        answer(c, m->head, rest.substr(m->head_size, m->length));
        done += m->head_size + m->length;
    }
    c.in.erase(0, done);
}

void drop(int fd) {
    close(fd);
    connections.erase(fd);
}

void receive(connection& c) {
    char buffer[65536];
    for (;;) {
        const auto n = recv(c.fd, buffer, sizeof buffer, 0);
        if (n == 0 || (n < 0 && errno != EAGAIN)) return drop(c.fd);
        if (n < 0) return;
        c.in.append(buffer, static_cast<std::size_t>(n));
        serve(c);
        if (static_cast<std::size_t>(n) < sizeof buffer) return;
    }
}

void accept_all(int listener) {
    for (;;) {
        const int fd = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) return;
        const int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        auto c = std::make_unique<connection>();
        c->fd = fd;
        epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
        epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
        connections.emplace(fd, std::move(c));
    }
}

} // namespace

int main(int argc, char** argv) {
    raise_open_files();
    auto port = static_cast<std::uint16_t>(argc > 1 ? std::atoi(argv[1]) : 0);
    const int listener = listen_on("127.0.0.1", port);
    poller = epoll_create1(EPOLL_CLOEXEC);
    epoll_event event{.events = EPOLLIN, .data = {.fd = listener}};
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
    std::printf("listening on http://127.0.0.1:%u/mcp\n", port);
    std::fflush(stdout);
    epoll_event events[256];
    for (;;) {
        const int n = epoll_wait(poller, events, 256, -1);
        for (int i = 0; i < n; ++i) {
            const int fd = events[i].data.fd;
            if (fd == listener) {
                accept_all(listener);
                continue;
            }
            const auto found = connections.find(fd);
            if (found == connections.end()) continue;
            if ((events[i].events & EPOLLOUT) != 0U) flush(*found->second);
            if ((events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0U) receive(*found->second);
        }
    }
}
