#include "gateway/renewal.hpp"

#include "gateway/links.hpp"

namespace sluice::gateway {

namespace {

// What a caller sees at an endpoint, as far as the configuration decides it.
struct view {
    std::vector<shared_served> servers;
    std::string all;   // what every list depends on
    std::string tools; // and what the list of tools alone
};

class parts {
public:
    void add(std::string_view part) {
        text_.append(std::to_string(part.size())).append(":").append(part);
    }
    void add(const std::vector<std::string>& list) {
        add(std::to_string(list.size()));
        for (const auto& each : list)
            add(each);
    }
    void add(const std::map<std::string, std::string>& map) {
        add(std::to_string(map.size()));
        for (const auto& [key, value] : map) {
            add(key);
            add(value);
        }
    }
    std::string take() { return std::move(text_); }

private:
    std::string text_;
};

view view_of(const ruled& by, const policy::principal& who, std::string_view path) {
    constexpr std::string_view all = "/mcp";
    auto names = path.substr(std::min(path.size(), all.size()));
    if (names.starts_with('/')) names.remove_prefix(1);
    view out;
    auto scope = by.walk.scope_for(who, names);
    if (!scope) return out;
    parts every;
    parts tools;
    every.add(by.in.names.rules().separator);
    every.add(std::to_string(by.in.names.rules().max_name));
    tools.add(who.tools.value_or(std::vector<std::string>{"\n"}));
    for (auto index : scope->servers) {
        const auto& server = by.in.names.server(index);
        out.servers.push_back(by.in.servers[index]);
        every.add(std::to_string(by.in.servers[index]->number));
        every.add(server.prefix());
        tools.add(server.allowed_tools);
        tools.add(server.disallowed_tools);
        tools.add(server.tool_name_to_display_name);
        tools.add(server.tool_name_to_description);
    }
    out.all = every.take();
    out.tools = tools.take();
    return out;
}

void tell_changed(const grounds& in, session::session& host, std::string_view kind) {
    auto method = "notifications/" + std::string(kind) + "/list_changed";
    auto note = "{\"jsonrpc\":\"2.0\",\"method\":\"" + method + "\"}";
    links_of(in, host).of_lists().tell(std::move(method), std::move(note));
}

void tell(const grounds& in, const changed& what) {
    tell_changed(in, *what.host, "tools");
    if (!what.all) return;
    tell_changed(in, *what.host, "prompts");
    tell_changed(in, *what.host, "resources");
}

// False when somebody was there first.
aio::task<base::result<bool>>
be_first(state::store& store, std::string record, std::string configuration) {
    constexpr const char* field = "told";
    auto before = co_await store.set_new(record, field, configuration);
    if (!before) co_return before.error();
    if (!*before) co_return true;
    if (**before == configuration) co_return false;
    // Whoever is quicker tells of the same one, or of one that came later.
    auto mine = co_await store.set_if(record, field, std::move(**before), configuration);
    co_return mine;
}

} // namespace

renewed renew_sessions(const ruled& before, const ruled& now) {
    renewed count;
    for (const auto& host : now.in.sessions.all()) {
        if (host->is_ending()) continue;
        const auto& who = host->who();
        auto is_now = now.keys.known_as(who.principal);
        if (!is_now) {
            ++count.ended;
            now.in.sessions.end_soon(host);
            continue;
        }
        auto sees = view_of(now, *is_now, who.scope);
        if (host->held() != nullptr) links_of(now.in, *host).keep_only(sees.servers);
        auto was = before.keys.known_as(who.principal);
        auto saw = was ? view_of(before, *was, who.scope) : view();
        changed what{host, saw.all != sees.all};
        if (who.id.empty() || (!what.all && saw.tools == sees.tools)) continue;
        if (host->is_kept()) {
            count.to_tell.push_back(std::move(what));
            continue;
        }
        tell(now.in, what);
        ++count.told;
    }
    return count;
}

aio::task<base::result<bool>>
tell_once(const grounds& in, changed what, std::string configuration) {
    if (what.host->is_ending()) co_return false;
    auto record = session::records::record_key(what.host->who().key);
    auto& store = what.host->kept()->store();
    auto first = co_await be_first(store, std::move(record), std::move(configuration));
    bool ended = !first && first.error().code == base::errc::not_found;
    if (ended) co_return false;
    if (first && *first && !what.host->is_ending()) tell(in, what);
    co_return first;
}

void close_unused(const grounds& in) {
    for (const auto& host : in.sessions.all()) {
        if (host->held() != nullptr && !host->is_ending()) links_of(in, *host).let_go();
    }
}

} // namespace sluice::gateway
