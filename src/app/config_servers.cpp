#include "app/config_checks.hpp"

namespace sluice::app {

namespace {

using upstream::server_settings;

struct found_server {
    section at;
    std::string name;
    bool named_by_key;
};

// Where each server stands, in the file's order.
std::vector<found_server> find_servers(const yaml_node& block, problem_list& problems) {
    std::vector<found_server> out;
    const std::string path = "mcp_servers";
    if (block.is_map()) {
        for (const auto& entry : block.entries) {
            section at{&entry.value, entry.where, dotted(path, entry.key)};
            out.push_back({std::move(at), entry.key, true});
        }
        return out;
    }
    if (block.what != yaml_node::kind::sequence) {
        problems.add(block.where, path, "must be a map by name, or a list with server_name");
        return out;
    }
    for (std::size_t i = 0; i < block.items.size(); ++i) {
        const auto& item = block.items[i];
        section at{&item, item.where, path + "[" + std::to_string(i) + "]"};
        if (!at.has("server_name")) {
            at.complain(problems, "server_name", "missing; a server in a list needs a name");
        }
        out.push_back({std::move(at), {}, false});
    }
    return out;
}

server_settings read_server(const found_server& found, const draft& file, problem_list& problems) {
    server_settings server = file.server_defaults;
    server.name = found.name;
    if (found.at.map->is_null()) {
        problems.add(
            found.at.own,
            found.at.path,
            "nothing is said of this server; it needs a url or a command"
        );
        return server;
    }
    read_map(*found.at.map, found.at.path, "", server, server_keys(), problems);
    if (found.named_by_key && server.name != found.name) {
        found.at.complain(
            problems, "server_name", "differs from the key, which is the name already"
        );
        server.name = found.name;
    }
    if (server.skip_output_validation) server.validate_output = upstream::output_check::off;
    if (!found.at.has("transport") && found.at.has("command") && !found.at.has("url")) {
        server.kind = upstream::transport::stdio;
    }
    return server;
}

} // namespace

std::vector<section> read_servers(const section& top, draft& file, problem_list& problems) {
    std::vector<section> sections;
    const auto* block = top.find("mcp_servers");
    if (block == nullptr || block->is_null()) {
        problems.add(
            block == nullptr ? place{} : block->where,
            "mcp_servers",
            "missing; no server is configured"
        );
        return sections;
    }
    for (auto& found : find_servers(*block, problems)) {
        auto server = read_server(found, file, problems);
        if (found.at.map->is_map()) {
            check_server(found.at, server, file.out.upstream.stdio, problems);
        }
        file.out.upstream.servers.push_back(std::move(server));
        sections.push_back(std::move(found.at));
    }
    return sections;
}

} // namespace sluice::app
