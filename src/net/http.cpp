#include "net/http.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>

namespace sluice::net {

namespace {

struct reason {
    int status;
    std::string_view text;
};

constexpr std::array reasons{
    reason{100, "Continue"},
    reason{200, "OK"},
    reason{201, "Created"},
    reason{202, "Accepted"},
    reason{204, "No Content"},
    reason{301, "Moved Permanently"},
    reason{302, "Found"},
    reason{303, "See Other"},
    reason{304, "Not Modified"},
    reason{307, "Temporary Redirect"},
    reason{308, "Permanent Redirect"},
    reason{400, "Bad Request"},
    reason{401, "Unauthorized"},
    reason{403, "Forbidden"},
    reason{404, "Not Found"},
    reason{405, "Method Not Allowed"},
    reason{406, "Not Acceptable"},
    reason{408, "Request Timeout"},
    reason{409, "Conflict"},
    reason{410, "Gone"},
    reason{411, "Length Required"},
    reason{413, "Content Too Large"},
    reason{414, "URI Too Long"},
    reason{415, "Unsupported Media Type"},
    reason{417, "Expectation Failed"},
    reason{421, "Misdirected Request"},
    reason{422, "Unprocessable Content"},
    reason{424, "Failed Dependency"},
    reason{429, "Too Many Requests"},
    reason{431, "Request Header Fields Too Large"},
    reason{499, "Client Closed Request"},
    reason{500, "Internal Server Error"},
    reason{501, "Not Implemented"},
    reason{502, "Bad Gateway"},
    reason{503, "Service Unavailable"},
    reason{504, "Gateway Timeout"},
    reason{505, "HTTP Version Not Supported"},
};

} // namespace

void fields::set(std::string_view name, std::string value) {
    std::string own_name(name);
    erase(name);
    add(std::move(own_name), std::move(value));
}

void fields::erase(std::string_view name) {
    std::erase_if(items_, [name](const auto& item) { return base::iequals(item.first, name); });
}

std::optional<std::string_view> fields::get(std::string_view name) const {
    for (const auto& [key, value] : items_) {
        if (key.size() == name.size() && base::iequals(key, name)) return value;
    }
    return std::nullopt;
}

std::size_t fields::count(std::string_view name) const {
    return static_cast<std::size_t>(std::ranges::count_if(items_, [name](const auto& item) {
        return item.first.size() == name.size() && base::iequals(item.first, name);
    }));
}

std::string_view request_head::path() const {
    std::string_view all(target);
    return all.substr(0, all.find('?'));
}

std::string_view request_head::query() const {
    std::string_view all(target);
    auto mark = all.find('?');
    if (mark == std::string_view::npos) return {};
    return all.substr(mark + 1);
}

std::string_view reason_of(int status) {
    auto found = std::ranges::find(reasons, status, &reason::status);
    if (found == reasons.end()) return "Status";
    return found->text;
}

std::optional<std::string> percent_decode(std::string_view text) {
    auto out = base::percent_decode(text);
    if (out && out->find('\0') != std::string::npos) return std::nullopt;
    return out;
}

} // namespace sluice::net
