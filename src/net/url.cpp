#include "base/text.hpp"
#include "net/http.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <vector>

namespace sluice::net {

namespace {

base::fault bad(std::string why) {
    return {base::errc::invalid_request, "not a usable URL: " + std::move(why)};
}

std::uint16_t default_port(bool tls) {
    return tls ? 443 : 80;
}

bool is_host_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

bool is_target_char(char c) {
    return static_cast<unsigned char>(c) > 0x20 && c != 0x7f;
}

// Splits "host", "host:port", "[v6]:port"; the port is left as it is when there is none.
base::result<void> read_authority(std::string_view text, url& out) {
    if (text.find('@') != std::string_view::npos) return bad("credentials in a URL are refused");
    std::string_view port;
    bool has_port = false;
    if (text.starts_with('[')) {
        auto end = text.find(']');
        if (end == std::string_view::npos) return bad("an IPv6 address misses its ]");
        out.host = base::lower(text.substr(1, end - 1));
        if (ip_version(out.host) != 6) return bad("an odd IPv6 address");
        auto rest = text.substr(end + 1);
        if (!rest.empty() && rest.front() != ':') return bad("text after ]");
        has_port = !rest.empty();
        if (has_port) port = rest.substr(1);
    } else {
        auto colon = text.find(':');
        out.host = base::lower(text.substr(0, colon));
        if (out.host.empty()) return bad("it has no host");
        if (!std::ranges::all_of(out.host, is_host_char))
            return bad("an odd character in the host");
        has_port = colon != std::string_view::npos;
        if (has_port) port = text.substr(colon + 1);
    }
    if (!has_port || port.empty()) return {};
    auto number = base::parse_unsigned(port);
    if (!number || *number == 0 || *number > 65535)
        return bad("a port is a number from 1 to 65535");
    out.port = static_cast<std::uint16_t>(*number);
    return {};
}

// RFC 3986 §5.2.4 on the path part of a target.
std::string without_dots(std::string_view target) {
    auto mark = target.find('?');
    auto path = target.substr(0, mark);
    std::string_view query =
        mark == std::string_view::npos ? std::string_view() : target.substr(mark);
    std::vector<std::string_view> kept;
    auto parts = base::split(path.substr(1), '/');
    for (std::size_t i = 0; i < parts.size(); ++i) {
        bool last = i + 1 == parts.size();
        if (parts[i] == "..") {
            if (!kept.empty()) kept.pop_back();
            if (last) kept.emplace_back();
        } else if (parts[i] == ".") {
            if (last) kept.emplace_back();
        } else {
            kept.push_back(parts[i]);
        }
    }
    std::string out;
    for (auto part : kept) {
        out += '/';
        out += part;
    }
    if (out.empty()) out = "/";
    out += query;
    return out;
}

bool has_scheme(std::string_view text) {
    auto end = text.find_first_of(":/?#");
    return end != std::string_view::npos && end > 0 && text[end] == ':';
}

} // namespace

std::string url::authority() const {
    std::string out = host.find(':') != std::string::npos ? "[" + host + "]" : host;
    if (port != default_port(tls)) out += ":" + std::to_string(port);
    return out;
}

bool url::same_origin(const url& other) const {
    return tls == other.tls && port == other.port && host == other.host;
}

base::result<url> parse_url(std::string_view text) {
    url out;
    constexpr std::string_view mark = "://";
    auto scheme_end = text.find(mark);
    auto scheme = base::lower(text.substr(0, scheme_end));
    bool known = scheme == "http" || scheme == "https";
    if (scheme_end == std::string_view::npos || !known)
        return bad("it must begin with http:// or https://");
    out.tls = scheme == "https";
    out.port = default_port(out.tls);
    text.remove_prefix(scheme_end + mark.size());
    if (text.find('#') != std::string_view::npos) return bad("fragments are refused");
    auto end = text.find_first_of("/?");
    auto authority = read_authority(text.substr(0, end), out);
    if (!authority) return authority.error();
    std::string_view target = end == std::string_view::npos ? std::string_view() : text.substr(end);
    if (!std::ranges::all_of(target, is_target_char)) return bad("a space or control character");
    out.target = target.starts_with('/') ? "" : "/";
    out.target += target;
    return out;
}

base::result<url> parse_host(std::string_view text) {
    url out;
    auto read = read_authority(text, out);
    if (!read) return read.error();
    if (text.ends_with(':')) return bad("a colon without a port");
    return out;
}

int ip_version(std::string_view host) {
    std::string text(host);
    in6_addr room{};
    if (::inet_pton(AF_INET, text.c_str(), &room) == 1) return 4;
    return ::inet_pton(AF_INET6, text.c_str(), &room) == 1 ? 6 : 0;
}

base::result<url> url::resolve(std::string_view reference) const {
    reference = reference.substr(0, reference.find('#')); // a fragment never reaches a server
    if (!std::ranges::all_of(reference, is_target_char)) return bad("a space or control character");
    if (has_scheme(reference)) return parse_url(reference);
    url out = *this;
    if (reference.starts_with("//")) {
        std::string absolute = tls ? "https:" : "http:";
        absolute += reference;
        return parse_url(absolute);
    }
    if (reference.empty()) return out;
    std::string_view base_path = std::string_view(target).substr(0, target.find('?'));
    std::string joined;
    if (reference.front() == '/') {
        joined = reference;
    } else if (reference.front() == '?') {
        joined = std::string(base_path) + std::string(reference);
    } else {
        joined =
            std::string(base_path.substr(0, base_path.rfind('/') + 1)) + std::string(reference);
    }
    out.target = without_dots(joined);
    return out;
}

} // namespace sluice::net
