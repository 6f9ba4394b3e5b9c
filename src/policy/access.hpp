// May this principal use this server, this tool, these arguments? One function decides, for lists
// and for calls alike; a grant, which the gateway needs to call, comes only from here.
#pragma once

#include "base/result.hpp"
#include "policy/keyring.hpp"
#include "policy/settings.hpp"
#include "upstream/settings.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::policy {

// What is asked for. Only tools are narrowed one by one; the others go with their server.
enum class item_kind : std::uint8_t { tool, prompt, resource, server };

// Proof that a call was allowed: nothing but an authoriser makes one.
class grant {
public:
    const caller& who() const { return who_; }
    const std::string& server() const { return server_; } // the server's name
    item_kind kind() const { return kind_; }
    const std::string& item() const { return item_; } // native tool or prompt name, URI, or empty

private:
    friend class authoriser;
    grant(caller who, std::string server, item_kind kind, std::string item)
        : who_(std::move(who)), server_(std::move(server)), kind_(kind), item_(std::move(item)) {}

    caller who_;
    std::string server_;
    item_kind kind_;
    std::string item_;
};

// A tool that an entry of a key may mean.
struct tool_reading {
    std::string_view server; // its name
    std::string_view tool;   // native

    bool operator==(const tool_reading&) const = default;
};

class authoriser {
public:
    // `servers` = all that are configured: an entry of a key that names one of them names no other
    // server's tool.
    authoriser(const settings& from, const std::vector<upstream::server_settings>& servers);

    // All that "server/tool" and "server-tool" can mean, by name or alias; nothing for a bare name.
    // An entry of several meanings is refused with its configuration, and grants nothing.
    std::vector<tool_reading> readings(std::string_view entry) const;

    // For lists: is it visible? `item` is the native name. A server that may be used but whose
    // tools are all narrowed away is still visible as a server.
    bool
    may(const principal& who,
        const upstream::server_settings& server,
        item_kind kind = item_kind::server,
        std::string_view item = {}) const;

    // For calls: the same decision, then the arguments. errc::not_found when it may not be seen (it
    // must look like something that does not exist); errc::forbidden naming the first argument that
    // allowed_params does not list.
    base::result<grant> authorise(
        const caller& who,
        const upstream::server_settings& server,
        item_kind kind,
        std::string_view item,
        std::span<const std::string> argument_names = {}
    ) const;

private:
    bool may_use_server(const principal& who, const upstream::server_settings& server) const;
    bool may_use_tool(
        const principal& who, const upstream::server_settings& server, std::string_view tool
    ) const;

    struct start {
        std::string text; // "server/", "server-", of every name and alias
        std::string server;
    };
    std::vector<start> starts_;
};

} // namespace sluice::policy
