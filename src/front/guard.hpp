// Checks on every HTTP request before anything of it is believed: Host, Origin, content type,
// accept. Spec: Streamable HTTP, "Security Warning"; protocol.md §4.1.
#pragma once

#include "base/result.hpp"
#include "front/settings.hpp"
#include "net/http.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sluice::front {

class guard {
public:
    // `loopback` = we listen on a loopback address: then loopback origins are a developer's own
    // pages.
    guard(const settings& from, bool loopback);

    bool host_allowed(std::string_view host_header) const;
    bool origin_allowed(std::string_view origin) const;
    // Faults: errc::forbidden with a sentence naming the header.
    base::result<void> check(const net::request_head& head) const;
    // For what only operators may do, and pages of no origin but its own: a name that an attacker
    // may have pointed at us (DNS rebinding) is none of ours, and an IP address cannot be pointed.
    base::result<void> check_operator(const net::request_head& head) const;

private:
    std::vector<std::string> hosts_;
    std::vector<std::string> origins_;
    bool loopback_;
};

bool is_json(std::string_view content_type);
// Whether an Accept header takes this media type ("*/*" and "type/*" count; q=0 does not).
bool accepts(const net::fields& headers, std::string_view media_type);

} // namespace sluice::front
