#include "app/config_checks.hpp"

namespace sluice::app {

namespace {

constexpr std::size_t shortest_salt = 16;

} // namespace

void settle_salts(const section& top, draft& file, const environment& env, problem_list& problems) {
    auto& salts = file.out.gateway.salt_keys;
    constexpr const char* too_short = "is shorter than 16 characters and could be guessed";
    for (std::size_t i = 0; i < salts.size(); ++i) {
        if (salts[i].reveal().size() < shortest_salt)
            top.complain_item(problems, "salt_keys", i, too_short);
    }
    if (top.has("salt_keys")) return;
    for (const char* name : {"SLUICE_SALT_KEY", "LITELLM_SALT_KEY"}) {
        auto value = env(name);
        if (!value || value->empty()) continue;
        if (value->size() < shortest_salt)
            problems.add({}, "salt_keys", std::string(name) + " " + too_short);
        salts.emplace_back(std::move(*value));
        return;
    }
}

} // namespace sluice::app
