#include "app/config_checks.hpp"
#include "sys/digest.hpp"

namespace sluice::app {

namespace {

// Each part with its length, so that no two lists of parts make the same text.
class parts {
public:
    void add(std::string_view part) {
        text_ += std::to_string(part.size()) + ':' + std::string(part);
    }
    void add(const names& list) {
        add(std::to_string(list.size()));
        for (const auto& each : list)
            add(each);
    }
    void add(const std::optional<names>& list) {
        add(list ? "list" : "none");
        if (list) add(*list);
    }
    void add(const std::map<std::string, std::string>& map) {
        add(std::to_string(map.size()));
        for (const auto& [key, value] : map) {
            add(key);
            add(value);
        }
    }
    const std::string& text() const { return text_; }

private:
    std::string text_;
};

void add_server(parts& to, const upstream::server_settings& server) {
    to.add(server.name);
    to.add(server.alias);
    to.add(std::to_string(static_cast<int>(server.kind)));
    to.add(server.url);
    to.add(server.command);
    to.add(server.args);
    to.add(server.allowed_tools);
    to.add(server.disallowed_tools);
    to.add(server.tool_name_to_display_name);
    to.add(server.tool_name_to_description);
    to.add(server.access_groups);
    to.add(server.allow_all_keys ? "all" : "some");
}

} // namespace

std::string digest_of(const settings& all) {
    parts of;
    of.add(all.catalog.separator);
    of.add(std::to_string(all.catalog.max_name));
    of.add(std::to_string(all.upstream.servers.size()));
    for (const auto& server : all.upstream.servers)
        add_server(of, server);
    for (const auto& key : all.policy.keys) {
        of.add(key.name);
        of.add(key.servers);
        of.add(key.groups);
        of.add(key.tools);
    }
    return base::hex(sys::sha256(of.text()));
}

} // namespace sluice::app
