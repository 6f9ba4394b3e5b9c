// HTTP heads as text. Field names or values that could break the framing are left out. Internal to
// net.
#pragma once

#include "net/http.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::net {

// Appends "name: value\r\n"; not when either holds a byte that ends a line, nor the fields this
// room writes itself (Content-Length, Transfer-Encoding, Connection, Date, Host when told so).
void append_field(std::string& out, std::string_view name, std::string_view value);

// Appends a decimal number; shorter to write, and quicker, than std::to_string.
void append_number(std::string& out, std::uint64_t number);

// "1f\r\n" for a chunk of that size.
std::string_view chunk_prefix(std::uint64_t size, char (&space)[20]);

// "Sun, 06 Nov 1994 08:49:37 GMT" of now, made anew once a second.
class date_line {
public:
    std::string_view now();

private:
    std::int64_t second_ = -1;
    char text_[32] = {};
};

enum class body_mark : std::uint8_t { none, length, chunked, until_close };
struct response_marks {
    body_mark body = body_mark::length;
    std::uint64_t length = 0;
    bool close = false;
    bool say_keep_alive = false; // for HTTP/1.0
};
void append_response_head(
    std::string& out,
    int status,
    const fields& headers,
    std::string_view date,
    const response_marks& marks
);

struct request_marks {
    std::string_view host;
    bool with_length = true;
    std::uint64_t length = 0;
};
void append_request_head(
    std::string& out,
    std::string_view method,
    std::string_view target,
    const fields& headers,
    const request_marks& marks
);

} // namespace sluice::net
