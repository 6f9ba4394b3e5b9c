#include "redis_server.hpp"

#include <doctest/doctest.h>

#include <arpa/inet.h>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <netinet/in.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace sluice::state::test {

namespace {

using namespace std::chrono_literals;

struct descriptor {
    explicit descriptor(int fd) : number(fd) {}
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    ~descriptor() {
        if (number >= 0) ::close(number);
    }
    int number;
};

sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return at;
}

pid_t spawn(const std::vector<std::string>& words, const std::string& output) {
    std::vector<char*> argv;
    for (const auto& word : words)
        argv.push_back(const_cast<char*>(word.c_str())); // exec's old signature
    argv.push_back(nullptr);
    pid_t parent = ::getpid();
    pid_t pid = ::fork();
    if (pid != 0) return pid;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(126);
    int out = ::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::dup2(out, 1);
    ::dup2(out, 2);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
}

} // namespace

std::uint16_t free_port() {
    descriptor fd(::socket(AF_INET, SOCK_STREAM, 0));
    auto at = loopback(0);
    socklen_t size = sizeof at;
    auto* raw = reinterpret_cast<sockaddr*>(&at);
    bool got = ::bind(fd.number, raw, size) == 0 && ::getsockname(fd.number, raw, &size) == 0;
    if (!got) throw std::runtime_error("no free port");
    return ntohs(at.sin_port);
}

int run_program(const std::vector<std::string>& words) {
    auto pid = spawn(words, "/dev/null");
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

redis_server::redis_server(words more, std::string sentinel)
    : more_(std::move(more)), sentinel_(std::move(sentinel)) {
    start();
}

redis_server::~redis_server() {
    stop();
}

void redis_server::launch() {
    words all{"redis-server"};
    bool sentinel = !sentinel_.empty();
    if (sentinel) {
        all.insert(all.end(), {folder_.path + "/sentinel.conf", "--sentinel"});
        std::ofstream(all[1]) << sentinel_; // it writes what it learns into it
    }
    bool tls = false;
    for (const auto& word : more_)
        tls = tls || word == "--tls-port";
    auto port = std::to_string(port_);
    all.insert(
        all.end(), {"--bind", "127.0.0.1", "--dir", folder_.path, "--port", tls ? "0" : port}
    );
    if (!sentinel) all.insert(all.end(), {"--save", "", "--appendonly", "no"});
    for (const auto& word : more_) {
        all.push_back(word);
        if (word == "--tls-port") all.push_back(port);
    }
    pid_ = spawn(all, folder_.path + "/output");
}

bool comes_true(const std::function<bool()>& condition, std::chrono::seconds within) {
    auto until = std::chrono::steady_clock::now() + within;
    while (!condition()) {
        if (std::chrono::steady_clock::now() >= until) return false;
        std::this_thread::sleep_for(5ms);
    }
    return true;
}

void redis_server::start() {
    // Between our looking and its binding somebody else may take the port: then another one.
    for (int attempt = 0; attempt < 5; ++attempt) {
        if (port_ == 0) port_ = free_port();
        launch();
        bool connected = false;
        auto settled = [&] {
            if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
                pid_ = -1;
                return true;
            }
            descriptor fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
            auto at = loopback(port_);
            connected = ::connect(fd.number, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0;
            return connected;
        };
        comes_true(settled, 10s);
        if (connected) return;
        stop();
        port_ = 0;
    }
    throw std::runtime_error("redis-server does not start; its words are in " + folder_.path);
}

void redis_server::stop() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
}

void redis_server::freeze() {
    ::kill(pid_, SIGSTOP);
}
void redis_server::thaw() {
    ::kill(pid_, SIGCONT);
}

std::string redis_server::ask(const words& command) const {
    descriptor fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    auto at = loopback(port_);
    timeval patience{5, 0};
    ::setsockopt(fd.number, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (::connect(fd.number, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) return {};
    std::string bytes = "*" + std::to_string(command.size()) + "\r\n";
    for (const auto& word : command)
        bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    if (::send(fd.number, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) return {};
    ::shutdown(fd.number, SHUT_WR); // it answers, then sees the end and closes
    std::string answer;
    char room[4096];
    for (;;) {
        auto count = ::recv(fd.number, room, sizeof room, 0);
        if (count <= 0) break;
        answer.append(room, static_cast<std::size_t>(count));
    }
    return answer;
}

} // namespace sluice::state::test
