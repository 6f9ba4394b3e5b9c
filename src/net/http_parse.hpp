// From the bytes of one HTTP head to its values, strictly: whatever two readers could frame
// differently is refused (decision http-framing). Used by our server and client; pure, so it is
// also a fuzz target.
#pragma once

#include "net/http.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice::net {

// Looks for the end of a head while its bytes arrive.
enum class head_state : std::uint8_t { incomplete, complete, malformed };
class head_scanner {
public:
    // `buffer` begins with the first byte of the head and has only grown since the last call.
    head_state scan(std::string_view buffer);
    std::size_t size() const { return size_; } // of the head with its blank line, when complete
    void reset() { *this = {}; }

private:
    std::size_t line_ = 0; // where the unfinished line begins
    std::size_t seen_ = 0; // up to where there is no '\n'
    std::size_t size_ = 0;
};

enum class body_kind : std::uint8_t { none, length, chunked, until_close };
struct framing {
    body_kind kind = body_kind::none;
    std::uint64_t length = 0;
};

struct parsed_request {
    request_head head;
    framing body;
    bool http_1_0 = false;
    bool expects_continue = false;
};

struct parsed_response {
    response_head head;
    framing body;
    bool keep_alive = true;
};

// `head` ends with its blank line. errc::parse_error says what was wrong.
base::result<parsed_request> parse_request_head(std::string_view head);
// `to_head`: the answer to a HEAD request, which has no body whatever its fields say.
base::result<parsed_response> parse_response_head(std::string_view head, bool to_head);

} // namespace sluice::net
