// The names of all configured servers and their tools, both ways: which servers a path element
// means, what a tool is called on an endpoint, and where a called name leads. Built once per
// configuration; holds no list of any upstream (see index).
#pragma once

#include "catalog/settings.hpp"
#include "mcp/names.hpp"
#include "upstream/settings.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::catalog {

// The servers an endpoint reaches, by index in configuration order.
struct scope {
    std::vector<std::size_t> servers;
    // Named by exactly one server's name or alias: names are the server's own, answers untouched.
    bool single = false;
    std::string path; // canonical, "/mcp" or "/mcp/a,b"; a session is bound to it
};

// Where a called name leads.
struct route {
    std::size_t server = 0;
    std::string native;
    // The name was shortened: `native` is not known yet; look for it in that server's lists.
    bool shortened = false;
};

// What the host sees for a tool. Where another tool has this one's own name for its display name,
// that one is told of: both are served, this one under a name made distinct, for what a display
// name means must not change with what a server lists.
struct shown_tool {
    std::string name;
    std::optional<std::string_view> taken_by = {};
};

class directory {
public:
    directory(settings rules, const std::vector<upstream::server_settings>& servers);

    std::size_t size() const { return servers_.size(); }
    const upstream::server_settings& server(std::size_t index) const { return servers_[index]; }

    // Every server that a name, alias or access group means; empty when nothing is called so.
    std::vector<std::size_t> find(std::string_view name) const;
    bool is_server_name(std::string_view name) const;

    // What the host sees for a server's native name.
    std::string public_name(const scope& where, std::size_t server, std::string_view native) const;
    // The same for tools, display names applied.
    std::string public_tool(const scope& where, std::size_t server, std::string_view native) const {
        return show_tool(where, server, native).name;
    }
    shown_tool show_tool(const scope& where, std::size_t server, std::string_view native) const;

    // The tool (or whatever is no tool) that a server's name means, without its prefix.
    std::string native_of(std::size_t server, std::string_view shown, bool tool) const;

    // By prefix (or by being the single server); display names are led back. Nothing when no
    // permitted prefix fits: the name may be a bare one.
    std::optional<route> resolve(const scope& where, std::string_view name, bool tool) const;

    const settings& rules() const { return rules_; }

private:
    std::optional<std::string_view> displaced_by(std::size_t server, std::string_view native) const;

    settings rules_;
    mcp::naming naming_;
    const std::vector<upstream::server_settings>& servers_;
};

} // namespace sluice::catalog
