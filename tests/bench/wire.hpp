// What both bench programs need of sockets and HTTP/1.1: no library, no allocation per request
// beyond a reused buffer, so that they cost less than what they measure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bench {

// Raises the soft limit on open files to the hard one, and the hard one when we may. Returns it.
std::uint64_t raise_open_files();

// Non-blocking listening socket on "host:port" (port 0: any); its port is stored in `port`.
int listen_on(const std::string& host, std::uint16_t& port);

// Starts a non-blocking connect; `from` is the source address, or empty.
int connect_to(const std::string& host, std::uint16_t port, const std::string& from);

std::uint64_t now_ns();

// The value of a header in a head (name without case), trimmed.
std::optional<std::string_view> header(std::string_view head, std::string_view name);

// The text of the first `"key":` value in a JSON text we wrote ourselves: a string with its quotes,
// or a number. Empty when absent.
std::string_view member(std::string_view json, std::string_view key);

// One message with its length, or nothing while it is incomplete.
struct message {
    std::string_view head;
    std::size_t head_size = 0;
    std::size_t length = 0; // of the body; unused when chunked
    bool chunked = false;
};
std::optional<message> parse_head(std::string_view buffer);

// Takes whole chunks from `in` (from `at` on) and appends their data to `out`. True at the last
// one.
bool take_chunks(std::string_view in, std::size_t& at, std::string& out);

[[noreturn]] void die(const char* what);

} // namespace bench
