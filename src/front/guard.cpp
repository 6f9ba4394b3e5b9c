#include "front/guard.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace sluice::front {

namespace {

std::string_view without_port(std::string_view authority) {
    if (authority.starts_with('[')) {
        auto end = authority.find(']');
        return end == std::string_view::npos ? authority : authority.substr(0, end + 1);
    }
    return authority.substr(0, authority.find(':'));
}

bool is_loopback_name(std::string_view host) {
    return host == "localhost" || host == "[::1]" || host.ends_with(".localhost") ||
           (host.starts_with("127.") &&
            host.find_first_not_of("0123456789.") == std::string_view::npos);
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
    auto host = base::lower(host_header);
    auto name = without_port(host);
    return is_loopback_name(name) || contains(hosts_, host) || contains(hosts_, name);
}

bool guard::origin_allowed(std::string_view origin) const {
    auto text = base::lower(origin);
    if (contains(origins_, "*") || contains(origins_, text)) return true;
    auto scheme = text.find("://");
    if (!loopback_ || scheme == std::string::npos) return false;
    return is_loopback_name(without_port(std::string_view(text).substr(scheme + 3)));
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

bool is_json(std::string_view content_type) {
    auto type = base::lower(base::trim(content_type.substr(0, content_type.find(';'))));
    return type == "application/json";
}

bool accepts(const net::fields& headers, std::string_view media_type) {
    auto family = std::string(media_type.substr(0, media_type.find('/'))) + "/*";
    int best = 0; // of the most specific range that fits: it alone decides (RFC 9110, 12.5.1)
    bool taken = false;
    for (const auto& [name, value] : headers.all()) {
        if (!base::iequals(name, "accept")) continue;
        for (auto range : base::split(value, ',')) {
            auto parts = base::split(range, ';');
            auto type = base::lower(base::trim(parts.front()));
            bool zero = std::any_of(parts.begin() + 1, parts.end(), [](std::string_view p) {
                auto q = base::trim(p);
                return q == "q=0" || q == "q=0.0" || q == "q=0.00" || q == "q=0.000";
            });
            int fits = type == media_type ? 3 : type == family ? 2 : type == "*/*" ? 1 : 0;
            if (fits == 0 || fits < best) continue;
            taken = !zero || (fits == best && taken);
            best = fits;
        }
    }
    return taken;
}

} // namespace sluice::front
