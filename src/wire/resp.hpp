// RESP2, the protocol of Redis: commands to bytes, bytes to replies. hiredis does the reading and
// the formatting; sockets are nobody's here. Used by state.
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::wire {

struct resp_reply {
    enum class type : std::uint8_t { nil, integer, text, error, array };
    type kind = type::nil;
    long long number = 0;          // of an integer
    std::string text;              // of a text (a status, too) or an error
    std::vector<resp_reply> items; // of an array

    bool is_nil() const { return kind == type::nil; }
    bool is_error() const { return kind == type::error; }
    bool operator==(const resp_reply&) const = default;
};

struct resp_limits {
    std::size_t bytes = 512UL * 1024 * 1024; // of one reply
    std::size_t items = 1024UL * 1024;       // of one array
};

// Takes bytes in any split, gives whole replies. After a fault it is of no more use.
class resp_reader {
public:
    explicit resp_reader(resp_limits limits = {});
    ~resp_reader();
    resp_reader(const resp_reader&) = delete;
    resp_reader& operator=(const resp_reader&) = delete;

    void feed(std::string_view bytes);
    // Nothing when the next reply is not whole yet; errc::protocol for what is not RESP or is over
    // the limits.
    base::result<std::optional<resp_reply>> next();

private:
    struct state;
    std::unique_ptr<state> state_;
};

// One command: its name and arguments, each any bytes.
std::string resp_command(std::span<const std::string_view> words);

} // namespace sluice::wire
