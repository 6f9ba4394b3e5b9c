#include "catalog/instructions.hpp"

#include "wire/json.hpp"

#include <algorithm>
#include <array>

namespace sluice::catalog {

namespace {

constexpr std::string_view cut_note = "\n\n(The gateway cut these instructions at its limit.)";

struct flag_of {
    std::string_view key;
    bool list_changed;
    bool subscribe;
};

constexpr std::array<flag_of, 5> kinds = {{
    {"logging", false, false},
    {"completions", false, false},
    {"prompts", true, false},
    {"resources", true, true},
    {"tools", true, false},
}};

bool is_true(std::string_view object, std::string_view key) {
    auto value = wire::object_view(object).find(key);
    return value && *value == "true";
}

} // namespace

std::string merge_instructions(const std::vector<section>& sections, std::size_t cap) {
    std::string out;
    for (const auto& s : sections) {
        if (s.text.empty()) continue;
        if (!out.empty()) out += "\n\n";
        out += "## " + s.server + "\n\n" + s.text;
    }
    if (out.size() <= cap) return out;
    // A cap too small for the sentence gets the text alone.
    auto note = cap >= cut_note.size() ? cut_note : std::string_view();
    std::size_t at = cap - note.size();
    while (at > 0 && (static_cast<unsigned char>(out[at]) & 0xC0U) == 0x80U)
        --at;
    return out.substr(0, at) + std::string(note);
}

bool has_capability(std::string_view capabilities, std::string_view key) {
    auto value = wire::object_view(capabilities).find(key);
    return value && wire::kind_of(*value) == wire::kind::object;
}

std::string merge_capabilities(const std::vector<std::string_view>& each, deliverable can) {
    std::string out = "{";
    auto add = [&](std::string_view key, std::string_view value) {
        if (out.size() > 1) out += ',';
        out.append("\"").append(key).append("\":").append(value);
    };
    for (const auto& kind : kinds) {
        bool any = false;
        bool list_changed = false;
        bool subscribe = false;
        for (auto text : each) {
            if (!has_capability(text, kind.key)) continue;
            any = true;
            auto value = *wire::object_view(text).find(kind.key);
            list_changed = list_changed || (kind.list_changed && is_true(value, "listChanged"));
            subscribe = subscribe || (kind.subscribe && is_true(value, "subscribe"));
        }
        if (!any) continue;
        std::string value = "{";
        if (subscribe && can.subscribe) value += "\"subscribe\":true";
        if (list_changed && can.list_changed) {
            if (value.size() > 1) value += ',';
            value += "\"listChanged\":true";
        }
        add(kind.key, value + "}");
    }
    if (each.size() == 1) {
        auto experimental = wire::object_view(each.front()).find("experimental");
        if (experimental) add("experimental", *experimental);
    }
    return out + "}";
}

} // namespace sluice::catalog
