// What a slot is called and holds, for people.
#include "app/config_keys.hpp"
#include "app/config_values.hpp"
#include "base/text.hpp"

namespace sluice::app {

namespace {

std::string either(std::span<const std::string_view> words) {
    std::string out;
    for (auto word : words) {
        if (!out.empty()) out += ", ";
        out += word;
    }
    return out;
}

struct type_namer {
    std::string operator()(const bool*) const { return "true, false"; }
    std::string operator()(const duration_slot&) const { return "duration"; }
    std::string operator()(const size_slot&) const { return "size"; }
    std::string operator()(const count_slot&) const { return "count"; }
    std::string operator()(const small_count_slot&) const { return "count"; }
    std::string operator()(const choice_slot& s) const { return either(s.words); }
    std::string operator()(const flag_slot& s) const {
        return std::string(s.no) + ", " + std::string(s.yes);
    }
    std::string operator()(const text_slot& s) const { return std::string(s.type); }
    std::string operator()(const list_slot& s) const { return std::string(s.type); }
    std::string operator()(const optional_list_slot&) const { return "list of names"; }
    std::string operator()(const secret_slot&) const { return "secret text"; }
    std::string operator()(const secret_list_slot&) const { return "list of secret texts"; }
    std::string operator()(const text_map_slot& s) const { return std::string(s.type); }
    std::string operator()(const list_map_slot& s) const { return std::string(s.type); }
    std::string operator()(const secret_map_slot&) const { return "map of variable to text"; }
    std::string operator()(const headers_slot&) const { return "map of header to text"; }
    std::string operator()(const block_slot& s) const { return std::string(s.type); }
};

struct default_shower {
    std::string operator()(bool* const& to) const { return *to ? "true" : "false"; }
    std::string operator()(const duration_slot& s) const { return show_duration(*s.to); }
    std::string operator()(const size_slot& s) const { return show_size(*s.to); }
    std::string operator()(const count_slot& s) const { return std::to_string(*s.to); }
    std::string operator()(const small_count_slot& s) const { return std::to_string(*s.to); }
    std::string operator()(const choice_slot& s) const { return std::string(s.words[*s.to]); }
    std::string operator()(const flag_slot& s) const { return std::string(*s.to ? s.yes : s.no); }
    std::string operator()(const text_slot& s) const { return *s.to; }
    std::string operator()(const list_slot& s) const { return base::join(*s.to, ", "); }
    std::string operator()(const auto&) const { return {}; }
};

} // namespace

std::string type_of(const slot& s) {
    return std::visit(type_namer{}, s);
}

std::string default_of(const slot& s) {
    return std::visit(default_shower{}, s);
}

} // namespace sluice::app
