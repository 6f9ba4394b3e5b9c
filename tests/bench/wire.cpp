#include "wire.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace bench {

namespace {

sockaddr_in address_of(const std::string& host, std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    if (inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) die("not an IPv4 address");
    return address;
}

int new_socket() {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) die("socket");
    return fd;
}

void set(int fd, int level, int option) {
    const int on = 1;
    setsockopt(fd, level, option, &on, sizeof on);
}

bool same_without_case(std::string_view a, std::string_view b) {
    return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

} // namespace

void die(const char* what) {
    std::fprintf(stderr, "%s: %s\n", what, std::strerror(errno));
    std::exit(1);
}

std::uint64_t raise_open_files() {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    rlimit more{65536, 65536};
    if (limit.rlim_max < more.rlim_max && setrlimit(RLIMIT_NOFILE, &more) == 0)
        return more.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
}

int listen_on(const std::string& host, std::uint16_t& port) {
    const int fd = new_socket();
    set(fd, SOL_SOCKET, SO_REUSEADDR);
    auto address = address_of(host, port);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    if (bind(fd, generic, size) < 0) die("bind");
    if (listen(fd, 4096) < 0) die("listen");
    getsockname(fd, generic, &size);
    port = ntohs(address.sin_port);
    return fd;
}

int connect_to(const std::string& host, std::uint16_t port, const std::string& from) {
    const int fd = new_socket();
    set(fd, IPPROTO_TCP, TCP_NODELAY);
    if (!from.empty()) {
        // The source port is picked at connect, so that one address serves many targets.
        set(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT);
        auto source = address_of(from, 0);
        if (bind(fd, reinterpret_cast<sockaddr*>(&source), sizeof source) < 0) die("bind source");
    }
    auto address = address_of(host, port);
    const int done = connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
    if (done < 0 && errno != EINPROGRESS) die("connect");
    return fd;
}

std::uint64_t now_ns() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U +
           static_cast<std::uint64_t>(t.tv_nsec);
}

std::optional<std::string_view> header(std::string_view head, std::string_view name) {
    for (std::size_t at = head.find("\r\n"); at != std::string_view::npos;) {
        const std::size_t begin = at + 2;
        at = head.find("\r\n", begin);
        const auto line = head.substr(begin, at == std::string_view::npos ? at : at - begin);
        const auto colon = line.find(':');
        if (colon == std::string_view::npos || !same_without_case(line.substr(0, colon), name))
            continue;
        auto value = line.substr(colon + 1);
        while (!value.empty() && value.front() == ' ')
            value.remove_prefix(1);
        return value;
    }
    return std::nullopt;
}

std::string_view member(std::string_view json, std::string_view key) {
    const std::string wanted = '"' + std::string(key) + "\":";
    auto at = json.find(wanted);
    if (at == std::string_view::npos) return {};
    at += wanted.size();
    if (json[at] == '"') return json.substr(at, json.find('"', at + 1) + 1 - at);
    return json.substr(at, json.find_first_of(",}] ", at) - at);
}

std::optional<message> parse_head(std::string_view buffer) {
    const auto end = buffer.find("\r\n\r\n");
    if (end == std::string_view::npos) return std::nullopt;
    message m{.head = buffer.substr(0, end), .head_size = end + 4};
    if (const auto te = header(m.head, "transfer-encoding")) m.chunked = true;
    if (const auto length = header(m.head, "content-length"))
        std::from_chars(length->data(), length->data() + length->size(), m.length);
    return m;
}

bool take_chunks(std::string_view in, std::size_t& at, std::string& out) {
    for (;;) {
        const auto line = in.find("\r\n", at);
        if (line == std::string_view::npos) return false;
        std::size_t size = 0;
        std::from_chars(in.data() + at, in.data() + line, size, 16);
        if (in.size() < line + 2 + size + 2) return false;
        out.append(in.substr(line + 2, size));
        at = line + 2 + size + 2;
        if (size == 0) return true;
    }
}

} // namespace bench
