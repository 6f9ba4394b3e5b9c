#include "mcp/client_capabilities.hpp"

#include "wire/json.hpp"

#include <optional>

namespace sluice::mcp {

namespace {

bool has_object(std::string_view object, std::string_view key) {
    auto value = wire::object_view(object).find(key);
    return value && wire::kind_of(*value) == wire::kind::object;
}

bool can_elicit(std::string_view capabilities, std::string_view mode) {
    auto value = wire::object_view(capabilities).find("elicitation");
    if (!value || wire::kind_of(*value) != wire::kind::object) return false;
    // `{}` means form, as before modes existed.
    if (mode == "form") return has_object(*value, "form") || !has_object(*value, "url");
    return mode == "url" && has_object(*value, "url");
}

} // namespace

std::string declared_upstream(std::string_view host_capabilities, allowed_questions allowed) {
    std::string out = "{";
    auto copy = [&](std::string_view key, bool may) {
        if (!may || !has_object(host_capabilities, key)) return;
        if (out.size() > 1) out += ',';
        out.append("\"").append(key).append("\":");
        out.append(*wire::object_view(host_capabilities).find(key));
    };
    copy("elicitation", allowed.elicitation);
    copy("sampling", allowed.sampling);
    copy("roots", allowed.roots);
    return out + "}";
}

bool can_answer(std::string_view capabilities, std::string_view method, std::string_view mode) {
    if (method == "elicitation/create") return can_elicit(capabilities, mode);
    if (method == "sampling/createMessage") return has_object(capabilities, "sampling");
    if (method == "roots/list") return has_object(capabilities, "roots");
    return false;
}

} // namespace sluice::mcp
