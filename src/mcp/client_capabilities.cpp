#include "mcp/client_capabilities.hpp"

#include "wire/json.hpp"

#include <array>
#include <optional>
#include <span>

namespace sluice::mcp {

namespace {

bool has_object(std::string_view object, std::string_view key) {
    auto value = wire::object_view(object).find(key);
    return value && wire::kind_of(*value) == wire::kind::object;
}

// Of members that decide, one (decision 13): what the host reads must be what was looked at here.
base::result<void> say_it_once(std::string_view params, std::span<const std::string_view> keys) {
    auto twice = wire::duplicate_key(params, keys);
    if (!twice) return {};
    return base::fault(
        base::errc::invalid_params, "params have '" + std::string(*twice) + "' more than once"
    );
}

base::fault not_declared(std::string_view method, std::string_view more = {}) {
    std::string text = "the client behind this gateway cannot be asked ";
    text.append(method).append(more);
    return {
        base::errc::method_not_found,
        text + ": it was not declared, or the gateway's configuration does not allow it for this "
               "server"
    };
}

// `{}` means form, as before modes existed.
base::result<void> can_elicit(std::string_view declared, std::string_view params) {
    constexpr std::array<std::string_view, 2> read = {"mode", "message"};
    auto once = say_it_once(params, read);
    if (!once) return once;
    std::string mode = "form";
    if (auto value = wire::object_view(params).find("mode")) {
        bool text = wire::kind_of(*value) == wire::kind::string;
        mode = text ? wire::unescape(*value) : std::string();
    }
    if (mode == "form") {
        if (has_object(declared, "form") || !has_object(declared, "url")) return {};
    } else if (mode == "url") {
        if (has_object(declared, "url")) return {};
    } else {
        return base::fault(base::errc::invalid_params, "mode must be \"form\" or \"url\"");
    }
    return not_declared("elicitation/create", " in mode " + mode);
}

base::result<void> can_sample(std::string_view declared, std::string_view params) {
    wire::object_view given(params);
    bool tools = given.find("tools") || given.find("toolChoice");
    if (tools && !has_object(declared, "tools"))
        return not_declared("sampling/createMessage", " with tools");
    return {};
}

} // namespace

bool is_question(std::string_view method) {
    return method == "elicitation/create" || method == "sampling/createMessage" ||
           method == "roots/list";
}

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

base::result<void>
can_answer(std::string_view capabilities, std::string_view method, std::string_view params) {
    auto declared = [&](std::string_view kind) {
        return has_object(capabilities, kind) ? wire::object_view(capabilities).find(kind)
                                              : std::nullopt;
    };
    if (method == "elicitation/create") {
        if (auto with = declared("elicitation")) return can_elicit(*with, params);
    }
    if (method == "sampling/createMessage") {
        if (auto with = declared("sampling")) return can_sample(*with, params);
    }
    if (method == "roots/list" && declared("roots")) return {};
    return not_declared(method);
}

} // namespace sluice::mcp
