#include "policy/keyring.hpp"

#include "base/secret.hpp"
#include "base/text.hpp"
#include "policy/key_names.hpp"
#include "sys/digest.hpp"

namespace sluice::policy {

namespace {

// The token after "Bearer ", nullopt for another scheme.
std::optional<std::string_view> after_bearer(std::string_view value) {
    constexpr std::string_view scheme = "bearer";
    value = base::trim(value);
    if (value.size() < scheme.size() || !base::iequals(value.substr(0, scheme.size()), scheme)) {
        return std::nullopt;
    }
    auto rest = value.substr(scheme.size());
    if (!rest.empty() && rest.front() != ' ' && rest.front() != '\t') return std::nullopt;
    return base::trim(rest);
}

caller make_principal(const key_settings& key) {
    auto who = std::make_shared<principal>();
    who->name = key.name;
    who->id = "key:" + key.sha256.substr(0, 32);
    who->servers = key.servers;
    who->groups = key.groups;
    who->tools = key.tools;
    return who;
}

caller make_anyone() {
    auto anyone = std::make_shared<principal>();
    anyone->name = "open";
    anyone->id = "open";
    anyone->open = true;
    return anyone;
}

} // namespace

std::string hash_key(std::string_view key) {
    return base::hex(sys::sha256(key));
}

std::optional<std::string_view> presented_key(
    std::optional<std::string_view> x_sluice_api_key,
    std::optional<std::string_view> x_litellm_api_key,
    std::optional<std::string_view> authorization
) {
    for (const auto& own : {x_sluice_api_key, x_litellm_api_key}) {
        if (!own) continue;
        auto token = after_bearer(*own);
        return token ? *token : base::trim(*own);
    }
    if (!authorization) return std::nullopt;
    return after_bearer(*authorization);
}

keyring::keyring(const settings& from) {
    for (const auto& key : from.keys)
        entries_.push_back({base::lower(key.sha256), make_principal(key)});
    open_ = make_anyone();
}

caller keyring::find(std::optional<std::string_view> key) const {
    if (is_open()) return open_;
    if (!key || key->empty()) return nullptr;
    auto digest = hash_key(*key);
    const entry* found = nullptr;
    // Every entry is compared, so the time does not tell which one matched.
    for (const auto& each : entries_) {
        if (base::equal_constant_time(each.sha256, digest)) found = &each;
    }
    return found == nullptr ? nullptr : found->who;
}

caller keyring::known_as(std::string_view id) const {
    if (is_open()) return id == open_->id ? open_ : nullptr;
    for (const auto& each : entries_) {
        if (each.who->id == id) return each.who;
    }
    return nullptr;
}

std::map<std::string, std::string> names_by_id(const settings& from) {
    std::map<std::string, std::string> all;
    auto anyone = make_anyone();
    if (from.keys.empty()) all.emplace(anyone->id, anyone->name);
    for (const auto& key : from.keys)
        all.emplace(make_principal(key)->id, key.name);
    return all;
}

} // namespace sluice::policy
