#include "mcp/schema_place.hpp"

#include "base/text.hpp"
#include "wire/json.hpp"

#include <string>

namespace sluice::mcp {

namespace {

std::string unescape_pointer(std::string_view part) {
    std::string out;
    for (std::size_t i = 0; i < part.size(); ++i) {
        bool escaped = part[i] == '~' && i + 1 < part.size();
        if (escaped && (part[i + 1] == '0' || part[i + 1] == '1')) {
            out += part[++i] == '0' ? '~' : '/';
        } else {
            out += part[i];
        }
    }
    return out;
}

std::optional<std::string_view> step(std::string_view at, const std::string& part) {
    if (wire::kind_of(at) == wire::kind::object) return wire::object_view(at).find(part);
    auto wanted = base::parse_unsigned(part);
    if (wire::kind_of(at) != wire::kind::array || !wanted) return std::nullopt;
    std::size_t index = 0;
    for (auto each : wire::array_view(at)) {
        if (index++ == *wanted) return each;
    }
    return std::nullopt;
}

std::optional<std::string_view> resolve(std::string_view pointer, std::string_view document) {
    std::optional<std::string_view> at = document;
    if (pointer.empty()) return at;
    for (auto part : base::split(pointer.substr(1), '/')) {
        bool inner = at->data() != document.data();
        // An $id on the way gives what is below it an address of its own.
        if (inner && wire::object_view(*at).find("$id")) return std::nullopt;
        at = step(*at, unescape_pointer(part));
        if (!at) return std::nullopt;
    }
    return at;
}

} // namespace

std::optional<std::string_view> place_of(std::string_view ref, std::string_view document) {
    if (!ref.starts_with('#')) return std::nullopt;
    auto pointer = base::percent_decode(ref.substr(1));
    if (!pointer || (!pointer->empty() && pointer->front() != '/')) return std::nullopt;
    return resolve(*pointer, document);
}

} // namespace sluice::mcp
