#include "front/guard.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace sluice::front {

namespace {

bool is_loopback_name(std::string_view host) {
    return host == "localhost" || host == "::1" || host.ends_with(".localhost") ||
           (host.starts_with("127.") && net::ip_version(host) == 4);
}

// The host of an origin that is written as browsers write it; empty for any other text.
std::string host_of_origin(std::string_view origin) {
    auto end = origin.find("://");
    if (end == std::string_view::npos || end == 0) return {};
    bool odd = std::any_of(origin.begin(), origin.begin() + end, [](char c) {
        bool fine =
            (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
        return !fine;
    });
    auto at = net::parse_host(origin.substr(end + 3));
    return odd || !at ? std::string() : at->host;
}

bool contains(const std::vector<std::string>& list, std::string_view text) {
    return std::find(list.begin(), list.end(), text) != list.end();
}

} // namespace

guard::guard(const settings& from, bool loopback)
    : hosts_(from.allowed_hosts), origins_(from.allowed_origins), loopback_(loopback) {
    auto url = net::parse_url(from.public_url);
    if (from.public_url.empty() || !url) return;
    hosts_.push_back(base::lower(url->authority()));
    origins_.push_back((url->tls ? "https://" : "http://") + base::lower(url->authority()));
}

bool guard::host_allowed(std::string_view host_header) const {
    auto at = net::parse_host(host_header);
    if (!at) return false;
    auto host = base::lower(host_header);
    auto name = host.substr(0, host.starts_with('[') ? host.find(']') + 1 : host.find(':'));
    return is_loopback_name(at->host) || contains(hosts_, host) || contains(hosts_, name);
}

bool guard::origin_allowed(std::string_view origin) const {
    auto text = base::lower(origin);
    if (contains(origins_, "*") || contains(origins_, text)) return true;
    return loopback_ && is_loopback_name(host_of_origin(text));
}

base::result<void> guard::check(const net::request_head& head) const {
    auto host = head.headers.get("host");
    if (host && !host_allowed(*host)) {
        return base::fault(
            base::errc::forbidden,
            "Host is not one of ours; list it in allowed_hosts or set public_url"
        );
    }
    auto origin = head.headers.get("origin");
    if (origin && !origin_allowed(*origin)) {
        return base::fault(
            base::errc::forbidden, "Origin is not allowed; list it in allowed_origins"
        );
    }
    return {};
}

base::result<void> guard::check_operator(const net::request_head& head) const {
    auto host = head.headers.get("host");
    if (host && !host_allowed(*host)) {
        auto at = net::parse_host(*host);
        if (!at || net::ip_version(at->host) == 0) {
            return base::fault(
                base::errc::forbidden,
                "Host is neither an IP address nor a name of ours; list it in allowed_hosts or set "
                "public_url"
            );
        }
    }
    auto origin = head.headers.get("origin");
    bool several = head.headers.count("origin") > 1;
    if (origin && (several || !host || !base::iequals(*origin, "http://" + std::string(*host)))) {
        return base::fault(base::errc::forbidden, "Origin is not this listener itself");
    }
    return {};
}

bool is_json(std::string_view content_type) {
    auto type = base::trim(content_type.substr(0, content_type.find(';')));
    return base::iequals(type, "application/json");
}

namespace {

// What stands before the next `mark`; takes it and the mark off `rest`.
std::string_view take_part(std::string_view& rest, char mark) {
    auto at = std::min(rest.find(mark), rest.size());
    auto part = rest.substr(0, at);
    rest.remove_prefix(std::min(at + 1, rest.size()));
    return base::trim(part);
}

// How closely a range of Accept names that type: 3 the type, 2 its family, 1 anything, 0 not at
// all.
int closeness(std::string_view range, std::string_view media_type) {
    if (base::iequals(range, media_type)) return 3;
    auto family = media_type.substr(0, media_type.find('/') + 1);
    bool of_family = range.size() == family.size() + 1 && range.back() == '*' &&
                     base::iequals(range.substr(0, family.size()), family);
    return of_family ? 2 : range == "*/*" ? 1 : 0;
}

bool has_no_weight(std::string_view parameters) {
    while (!parameters.empty()) {
        auto q = take_part(parameters, ';');
        if (q == "q=0" || q == "q=0.0" || q == "q=0.00" || q == "q=0.000") return true;
    }
    return false;
}

} // namespace

bool accepts(const net::fields& headers, std::string_view media_type) {
    int best = 0; // of the most specific range that fits: it alone decides (RFC 9110, 12.5.1)
    bool taken = false;
    for (const auto& [name, value] : headers.all()) {
        if (!base::iequals(name, "accept")) continue;
        for (std::string_view rest = value; !rest.empty();) {
            auto range = take_part(rest, ',');
            int fits = closeness(take_part(range, ';'), media_type);
            if (fits == 0 || fits < best) continue;
            taken = !has_no_weight(range) || (fits == best && taken);
            best = fits;
        }
    }
    return taken;
}

} // namespace sluice::front
