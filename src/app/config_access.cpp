#include "app/config_checks.hpp"
#include "policy/access.hpp"

#include <algorithm>
#include <set>

namespace sluice::app {

namespace {

using policy::key_settings;

struct known_names {
    names servers; // and aliases
    names groups;
};

known_names names_of(const std::vector<upstream::server_settings>& servers) {
    known_names out;
    for (const auto& server : servers) {
        out.servers.push_back(server.name);
        if (!server.alias.empty()) out.servers.push_back(server.alias);
        out.groups.insert(
            out.groups.end(), server.access_groups.begin(), server.access_groups.end()
        );
    }
    return out;
}

bool holds(const names& list, std::string_view text) {
    return std::find(list.begin(), list.end(), text) != list.end();
}

void check_known(
    const section& at,
    std::string_view key,
    const std::optional<names>& list,
    const names& known,
    const char* what,
    problem_list& problems
) {
    if (!list) return;
    for (std::size_t i = 0; i < list->size(); ++i) {
        const auto& name = (*list)[i];
        if (holds(known, name)) continue;
        auto text = "no " + std::string(what) + " is called \"" + name + "\"";
        at.complain_item(problems, key, i, std::move(text), base::nearest(name, known));
    }
}

// How to write a tool of a server so that no other is meant.
std::string certain_form(
    const policy::authoriser& judge,
    const std::vector<upstream::server_settings>& servers,
    const policy::tool_reading& meant
) {
    for (const auto& server : servers) {
        if (server.name != meant.server) continue;
        for (const auto& name : {server.name, server.alias}) {
            auto form = name + "/" + std::string(meant.tool);
            if (judge.readings(form).size() == 1) return form;
        }
    }
    return {};
}

std::string many_meanings(
    const policy::authoriser& judge,
    const std::vector<upstream::server_settings>& servers,
    const std::vector<policy::tool_reading>& meant
) {
    std::string text = "could mean";
    names forms;
    for (const auto& one : meant) {
        text += text.ends_with("mean") ? " the tool \"" : " or the tool \"";
        text.append(one.tool).append("\" of server \"").append(one.server).append("\"");
        auto form = certain_form(judge, servers, one);
        if (!form.empty()) forms.push_back("\"" + form + "\"");
    }
    return text +
           (forms.empty() ? "; choose another alias" : "; write " + base::join(forms, " or "));
}

void check_tools(
    const section& at,
    const key_settings& key,
    const names& servers,
    const draft& file,
    problem_list& problems
) {
    if (!key.tools) return;
    policy::settings rules;
    rules.separator = file.out.catalog.separator;
    policy::authoriser judge(rules, file.out.upstream.servers);
    for (std::size_t i = 0; i < key.tools->size(); ++i) {
        const auto& entry = (*key.tools)[i];
        auto server = entry.substr(0, entry.find('/'));
        if (entry.empty()) at.complain_item(problems, "tools", i, "is empty");
        auto meant = judge.readings(entry);
        if (meant.size() > 1) {
            auto text = many_meanings(judge, file.out.upstream.servers, meant);
            at.complain_item(problems, "tools", i, std::move(text));
        }
        bool known = !meant.empty() || server.size() == entry.size() || holds(servers, server);
        if (known) continue;
        auto text = "no server is called \"" + server + "\"";
        at.complain_item(problems, "tools", i, std::move(text), base::nearest(server, servers));
    }
}

bool is_digest(std::string_view text) {
    auto hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    return text.size() == 64 && std::all_of(text.begin(), text.end(), hex);
}

void check_key(const section& at, key_settings& key, problem_list& problems) {
    auto visible = [](char c) { return c > 0x20 && c < 0x7f; };
    if (!at.has("name")) {
        at.complain(problems, "name", "missing");
    } else if (key.name.empty() || key.name.size() > 64 ||
               !std::all_of(key.name.begin(), key.name.end(), visible)) {
        at.complain(problems, "name", "a key's name is 1 to 64 visible characters without spaces");
    }
    key.sha256 = base::lower(key.sha256);
    // What stands here may be a key by mistake, so it is not shown.
    if (!at.has("sha256")) {
        at.complain(problems, "sha256", "missing; make it with sluice hash-key");
    } else if (!is_digest(key.sha256)) {
        at.complain(problems, "sha256", "must be 64 hex digits, as sluice hash-key prints them");
    }
}

} // namespace

void read_keys(const section& top, draft& file, problem_list& problems) {
    if (!top.has("keys")) return;
    const auto& block = *top.find("keys");
    if (block.what != yaml_node::kind::sequence) {
        return top.complain(
            problems, "keys", "must be a list, not " + std::string(block.kind_name())
        );
    }
    auto known = names_of(file.out.upstream.servers);
    std::set<std::string> key_names;
    std::set<std::string> digests;
    for (std::size_t i = 0; i < block.items.size(); ++i) {
        const auto& item = block.items[i];
        section at{&item, item.where, "keys[" + std::to_string(i) + "]"};
        key_settings key;
        read_map(item, at.path, "", key, key_keys(), problems);
        if (item.is_null()) problems.add(at.own, at.path, "is empty");
        if (!item.is_map()) continue;
        check_key(at, key, problems);
        check_known(at, "servers", key.servers, known.servers, "server", problems);
        check_known(at, "groups", key.groups, known.groups, "group", problems);
        check_tools(at, key, known.servers, file, problems);
        if (!key_names.insert(key.name).second)
            at.complain(problems, "name", "another key has this name");
        if (is_digest(key.sha256) && !digests.insert(key.sha256).second) {
            at.complain(problems, "sha256", "another key has this digest");
        }
        file.out.policy.keys.push_back(std::move(key));
    }
}

void check_admission(const section& top, draft& file, problem_list& problems) {
    auto& policy = file.out.policy;
    policy.auth_none = file.auth == auth_mode::none;
    policy.separator = file.out.catalog.separator;
    // A broken list of keys has been reported; it does not mean "open".
    bool keyed = !policy.keys.empty() || (top.has("keys") && !top.find("keys")->items.empty());
    if (policy.auth_none && keyed) {
        return top.complain(problems, "auth", "none, but there are keys; remove one of the two");
    }
    if (policy.auth_none || keyed) return;
    if (top.has("auth")) {
        return top.complain(problems, "auth", "keys, but no keys are configured");
    }
    const auto& listen = file.out.front.listen;
    if (!is_address(listen) || is_loopback_address(listen)) return;
    top.complain(
        problems,
        "listen",
        "reaches beyond this machine and no keys are configured; add keys, or write \"auth: none\" "
        "to "
        "serve everybody"
    );
}

} // namespace sluice::app
