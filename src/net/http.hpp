// HTTP/1.1 words shared by our server and client sides: header fields, request and response heads.
// net knows no MCP. Framing is checked strictly (docs/decisions/http-framing): a message whose
// length two parties could read differently is refused.
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::net {

// Header fields in arrival order; names compare without case. Values are trimmed of outer
// whitespace.
class fields {
public:
    void add(std::string name, std::string value) {
        if (items_.capacity() == 0) items_.reserve(10); // most heads fit, none grows step by step
        items_.emplace_back(std::move(name), std::move(value));
    }
    void set(std::string_view name, std::string value); // replaces every field of that name
    void erase(std::string_view name);
    // The first value of that name.
    std::optional<std::string_view> get(std::string_view name) const;
    std::size_t count(std::string_view name) const;
    const std::vector<std::pair<std::string, std::string>>& all() const { return items_; }

private:
    std::vector<std::pair<std::string, std::string>> items_;
};

struct request_head {
    std::string method; // as sent, e.g. "POST"
    std::string target; // origin form, undecoded: "/mcp?x=1"
    fields headers;
    bool keep_alive = true;
    std::string_view path() const;  // target up to '?'
    std::string_view query() const; // after '?', empty when none
};

struct response_head {
    int status = 200;
    fields headers;
};

// A whole answer in memory. Content-Length, Date and Connection are added when it is written.
struct response {
    int status = 200;
    fields headers;
    std::string body;
};

std::string_view reason_of(int status);

// http://host[:port][/path][?query] or https://…; userinfo and fragments are refused.
struct url {
    bool tls = false;
    std::string host; // lower case, no brackets for IPv6
    std::uint16_t port = 80;
    std::string target;            // path and query, at least "/"
    std::string authority() const; // Host header: port left out when it is the scheme's own
    bool same_origin(const url& other) const;
    // Resolves a reference ("/x?y", "x", "http://…") against this URL; errc::invalid_request when
    // unusable.
    base::result<url> resolve(std::string_view reference) const;
};
base::result<url> parse_url(std::string_view text);
// What a Host field may hold: "host", "host:port", "[v6]:port", and nothing beside it.
base::result<url> parse_host(std::string_view text);
// 4 or 6 for such an address, without brackets; 0 for anything else.
int ip_version(std::string_view host);

// %XX decoding of one path segment; nullopt when malformed or when it holds NUL.
std::optional<std::string> percent_decode(std::string_view text);

} // namespace sluice::net
