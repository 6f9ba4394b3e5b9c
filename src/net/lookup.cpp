#include "net/lookup.hpp"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <netdb.h>
#include <sys/eventfd.h>
#include <system_error>
#include <thread>

namespace sluice::net {

namespace {

using endpoint = lookup::endpoint;

// First the order the system prefers, but families in turn, so that a dead IPv6 costs one attempt.
std::vector<endpoint> in_turn(const std::vector<endpoint>& all) {
    std::vector<endpoint> first;
    std::vector<endpoint> second;
    for (const auto& one : all) {
        auto& to = one.protocol() == all.front().protocol() ? first : second;
        to.push_back(one);
    }
    std::vector<endpoint> out;
    for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
        if (i < first.size()) out.push_back(first[i]);
        if (i < second.size()) out.push_back(second[i]);
    }
    return out;
}

base::fault no_room() {
    return {base::errc::unreachable, "cannot look up a name: out of descriptors or threads"};
}

} // namespace

base::result<std::shared_ptr<lookup>> lookup::start(std::string host, std::uint16_t port) {
    auto it = std::make_shared<lookup>();
    it->host_ = std::move(host);
    it->port_ = port;
    it->done_ = owned_fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (it->done_.get() < 0) return no_room();
    try {
        std::thread([it] { it->run(); }).detach();
    } catch (const std::system_error&) {
        return no_room();
    }
    return it;
}

void lookup::run() {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    int error = ::getaddrinfo(host_.c_str(), nullptr, &hints, &list);
    if (error != 0) failure_ = ::gai_strerror(error);
    for (auto* one = list; one != nullptr; one = one->ai_next) {
        endpoint at;
        if (one->ai_addrlen > at.capacity()) continue;
        std::memcpy(at.data(), one->ai_addr, one->ai_addrlen);
        at.resize(one->ai_addrlen);
        at.port(port_);
        found_.push_back(at);
    }
    if (list != nullptr) ::freeaddrinfo(list);
    ::eventfd_write(done_.get(), 1);
}

int lookup::watch() const {
    return ::fcntl(done_.get(), F_DUPFD_CLOEXEC, 3);
}

base::result<std::vector<endpoint>> lookup::answer() const {
    if (!found_.empty()) return in_turn(found_);
    auto why = failure_.empty() ? "it has no address" : failure_;
    return base::fault(base::errc::unreachable, "cannot look up " + host_ + ": " + why);
}

} // namespace sluice::net
