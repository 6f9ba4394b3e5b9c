#include "upstream/trouble.hpp"

#include "base/outcome.hpp"

#include <utility>

namespace sluice::upstream {

namespace {

constexpr auto same_again = std::chrono::seconds(30);
constexpr auto between_two = std::chrono::seconds(1);

std::string_view on_no_connection(const base::fault& why, const server_settings& server) {
    if (server.kind == transport::stdio)
        return "look at command, args and env, and at what it says on stderr in this log";
    if (why.message.starts_with("TLS"))
        return "look at its certificate, at the host in url, and at tls.ca_file";
    return "see that it runs, that url leads to it, and that no firewall is between";
}

std::string_view on_silence(std::string_view doing) {
    if (doing == "initialize") return "look at its health, or raise its initialize_timeout";
    if (doing.ends_with("/list")) return "look at its health, or raise its list_timeout";
    return "look at its health, or raise its timeout (silence) or max_timeout (the whole call)";
}

std::string_view on_status(int status) {
    if (status == 429) return "it asks for fewer requests: lower max_concurrent_requests";
    if (status >= 500) return "look at its own log";
    return "see that url is the address of its MCP endpoint";
}

} // namespace

bool trouble::is_news(const base::fault& why, aio::instant now) {
    if (why.code == base::errc::cancelled) return false;
    auto cause = std::string(name_of(why.code)) + ":" + why.message;
    const auto* before = told_.find(cause);
    if (before != nullptr && now < *before + same_again) return false;
    if (now < quiet_until_) {
        ++untold_;
        return false;
    }
    told_.put(cause, now);
    quiet_until_ = now + between_two;
    return true;
}

std::uint64_t trouble::take_untold() {
    return std::exchange(untold_, 0);
}

std::string_view
advice_on(const base::fault& why, std::string_view doing, const server_settings& server) {
    switch (base::outcome_of(why)) {
    case base::outcome::ok:
        return "";
    case base::outcome::auth_required:
        return "check auth_type and auth_value, or the credential that extra_headers forward";
    case base::outcome::forbidden:
        return "see what its credential may do there";
    case base::outcome::timeout:
        return on_silence(doing);
    case base::outcome::unreachable:
        if (why.code == base::errc::closed) return "look at its own log for why it ended";
        return on_no_connection(why, server);
    case base::outcome::upstream_error:
        if (why.http_status != 0) return on_status(why.http_status);
        if (why.code == base::errc::too_large)
            return "raise its max_message, or let it send less at once";
        if (why.code == base::errc::too_many) return "raise that bound, or let it be asked less";
        return "see that it is an MCP server, and whether a newer version of it helps";
    case base::outcome::internal:
        return "see what the problem names in the configuration";
    }
    return "";
}

} // namespace sluice::upstream
