#include "app/config_checks.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace sluice::app {

namespace {

using upstream::server_settings;

constexpr std::array reserved = std::to_array<std::string_view>({
    "mcp",
    "sse",
    "proxy",
    "toolset",
    "admin",
    "metrics",
    "healthz",
    "readyz",
    "public",
    "v1",
    ".well-known",
});
constexpr std::size_t longest_name = 32;

struct owner {
    std::string what; // "the name of …"
    std::size_t server;
};

class name_checker {
public:
    name_checker(
        const std::vector<section>& sections,
        const std::vector<server_settings>& servers,
        problem_list& problems
    )
        : sections_(sections), servers_(servers), problems_(problems) {}

    void names_and_aliases() {
        for (std::size_t i = 0; i < servers_.size(); ++i) {
            const auto& server = servers_[i];
            // A list's missing name has been reported already.
            take(i, "", server.name, "the name of " + sections_[i].path);
            if (server.alias.empty() || server.alias == server.name) {
                if (sections_[i].has("alias") && server.alias.empty())
                    complain(i, "alias", "is empty");
                continue;
            }
            take(i, "alias", server.alias, "the alias of " + sections_[i].path);
        }
    }

    void groups() {
        for (std::size_t i = 0; i < servers_.size(); ++i) {
            const auto& list = servers_[i].access_groups;
            for (std::size_t k = 0; k < list.size(); ++k) {
                auto wrong = what_is_wrong_with_name(list[k]);
                auto known = taken_.find(list[k]);
                if (wrong.empty() && known != taken_.end()) {
                    wrong = "\"" + list[k] + "\" is " + known->second.what + " already";
                }
                if (wrong.empty()) continue;
                sections_[i].complain_item(problems_, "access_groups", k, std::move(wrong));
            }
        }
    }

    // A prefix with its separator may not begin with another's; the separator may itself begin with
    // what a prefix ends with: `a` and `a-` with `--`.
    void prefixes(const std::string& separator) {
        std::map<std::string, std::size_t, std::less<>> starts;
        for (std::size_t i = 0; i < servers_.size(); ++i) {
            if (!servers_[i].prefix().empty()) starts.emplace(servers_[i].prefix() + separator, i);
        }
        for (const auto& [start, i] : starts) {
            for (std::size_t length = 1; length < start.size(); ++length) {
                auto inside = starts.find(std::string_view(start).substr(0, length));
                if (inside != starts.end()) clash(i, inside->second, separator);
            }
        }
    }

private:
    void clash(std::size_t one, std::size_t two, const std::string& separator) {
        auto first = std::min(one, two);
        auto second = std::max(one, two);
        complain(
            second,
            servers_[second].alias.empty() ? "" : "alias",
            "prefix \"" + servers_[second].prefix() + "\" and prefix \"" +
                servers_[first].prefix() + "\" (" + sections_[first].path + ") with separator \"" +
                separator + "\" could name the same tool; choose another alias"
        );
    }

    void complain(std::size_t i, std::string_view key, std::string text) {
        const auto& at = sections_[i];
        if (!key.empty()) return at.complain(problems_, key, std::move(text));
        bool listed = at.has("server_name");
        problems_.add(
            listed ? at.at("server_name") : at.own,
            listed ? dotted(at.path, "server_name") : at.path,
            std::move(text)
        );
    }

    void take(std::size_t i, std::string_view key, const std::string& name, std::string what) {
        auto wrong = what_is_wrong_with_name(name);
        if (!wrong.empty()) complain(i, key, std::move(wrong));
        auto [known, fresh] = taken_.emplace(name, owner{std::move(what), i});
        if (!fresh) complain(i, key, "\"" + name + "\" is " + known->second.what + " already");
    }

    const std::vector<section>& sections_;
    const std::vector<server_settings>& servers_;
    problem_list& problems_;
    std::map<std::string, owner, std::less<>> taken_;
};

} // namespace

std::string what_is_wrong_with_name(std::string_view name) {
    auto fine = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '.' || c == '-';
    };
    if (name.empty()) return "a name cannot be empty";
    if (!std::all_of(name.begin(), name.end(), fine)) {
        return "a name is made of A-Z a-z 0-9 _ . - only";
    }
    if (name.size() > longest_name) return "a name has at most 32 characters";
    auto same = [&](std::string_view word) { return base::iequals(word, name); };
    if (name == "." || name == ".." || std::any_of(reserved.begin(), reserved.end(), same)) {
        return "\"" + std::string(name) + "\" is reserved";
    }
    return {};
}

void check_names(
    const std::vector<section>& sections,
    const std::vector<server_settings>& servers,
    const std::string& separator,
    problem_list& problems
) {
    name_checker check(sections, servers, problems);
    check.names_and_aliases();
    check.groups();
    check.prefixes(separator);
}

} // namespace sluice::app
