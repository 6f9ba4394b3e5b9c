#include "catalog/directory.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>

using namespace sluice;
using namespace sluice::catalog;

namespace {

upstream::server_settings server(std::string name, std::string alias = {}) {
    upstream::server_settings s;
    s.name = std::move(name);
    s.alias = std::move(alias);
    return s;
}

// Three servers: one with an alias and display names, one whose name begins like another's.
struct office {
    office() {
        servers = {server("github", "gh"), server("git-hub"), server("jira")};
        servers[0].tool_name_to_display_name = {{"create_issue", "new-issue"}};
        servers[0].access_groups = {"dev"};
        servers[2].access_groups = {"dev", "ops"};
    }
    catalog::settings rules;
    std::vector<upstream::server_settings> servers;
    scope everything{{0, 1, 2}, false, "/mcp"};
    scope only_github{{0}, true, "/mcp/gh"};
};

} // namespace

TEST_CASE("a name, an alias and a group each find their servers, in configuration order") {
    office o;
    directory d(o.rules, o.servers);
    CHECK(d.find("github") == std::vector<std::size_t>{0});
    CHECK(d.find("gh") == std::vector<std::size_t>{0});
    CHECK(d.find("dev") == std::vector<std::size_t>{0, 2});
    CHECK(d.find("GitHub").empty());
    CHECK(d.find("").empty());
    CHECK(d.is_server_name("gh"));
    CHECK_FALSE(d.is_server_name("dev"));
    CHECK_FALSE(d.is_server_name(""));
}

TEST_CASE("on an aggregate a tool is called alias, separator, name, and the alias leads back") {
    office o;
    directory d(o.rules, o.servers);
    CHECK(d.public_tool(o.everything, 0, "list-repos") == "gh-list-repos");
    auto r = d.resolve(o.everything, "gh-list-repos", true);
    REQUIRE(r);
    CHECK(r->server == 0);
    CHECK(r->native == "list-repos");
    CHECK_FALSE(r->shortened);
    // The name that has an alias before it is no prefix.
    CHECK_FALSE(d.resolve(o.everything, "github-list-repos", true));
}

TEST_CASE("every tool's public name leads back to it, on aggregates and alone") {
    office o;
    directory d(o.rules, o.servers);
    for (std::string native : {"create_issue", "a", "-a-", "hub-x", "é", "new issue"}) {
        for (std::size_t i = 0; i < o.servers.size(); ++i) {
            auto r = d.resolve(o.everything, d.public_tool(o.everything, i, native), true);
            REQUIRE(r);
            CHECK(r->server == i);
            CHECK(r->native == native);
        }
        auto alone = d.resolve(o.only_github, d.public_tool(o.only_github, 0, native), true);
        REQUIRE(alone);
        CHECK(alone->native == native);
    }
}

TEST_CASE("a display name is shown and led back for tools, and left alone for prompts") {
    office o;
    directory d(o.rules, o.servers);
    CHECK(d.public_tool(o.everything, 0, "create_issue") == "gh-new-issue");
    CHECK(d.public_name(o.everything, 0, "create_issue") == "gh-create_issue");
    CHECK(d.resolve(o.everything, "gh-new-issue", true)->native == "create_issue");
    CHECK(d.resolve(o.everything, "gh-new-issue", false)->native == "new-issue");
    CHECK(d.public_tool(o.only_github, 0, "create_issue") == "new-issue");
    CHECK(d.resolve(o.only_github, "new-issue", true)->native == "create_issue");
    // The native name goes on working for who knows it.
    CHECK(d.resolve(o.only_github, "create_issue", true)->native == "create_issue");
}

TEST_CASE("a single server's names are its own, however long and whatever they begin with") {
    office o;
    directory d(o.rules, o.servers);
    std::string longest(200, 'x');
    CHECK(d.public_tool(o.only_github, 0, longest) == longest);
    auto r = d.resolve(o.only_github, "gh-x", true);
    REQUIRE(r);
    CHECK(r->native == "gh-x");
    CHECK_FALSE(d.resolve(o.only_github, longest, true)->shortened);
}

TEST_CASE("only servers of the scope are led to") {
    office o;
    directory d(o.rules, o.servers);
    scope without_jira{{0, 1}, false, "/mcp/gh,git-hub"};
    CHECK_FALSE(d.resolve(without_jira, "jira-x", true));
    CHECK(d.resolve(without_jira, "git-hub-x", true)->server == 1);
    CHECK_FALSE(d.resolve(scope{}, "gh-x", true));
}

TEST_CASE("a shortened name says that it is one and whose") {
    office o;
    directory d(o.rules, o.servers);
    auto shown = d.public_tool(o.everything, 2, std::string(100, 'x'));
    CHECK(shown.size() <= o.rules.max_name);
    auto r = d.resolve(o.everything, shown, true);
    REQUIRE(r);
    CHECK(r->server == 2);
    CHECK(r->shortened);
}

TEST_CASE("another separator is used both ways") {
    office o;
    o.rules.separator = "__";
    directory d(o.rules, o.servers);
    CHECK(d.public_tool(o.everything, 2, "a__b") == "jira__a__b");
    CHECK(d.resolve(o.everything, "jira__a__b", true)->native == "a__b");
    CHECK_FALSE(d.resolve(o.everything, "jira-a", true));
}

TEST_CASE("whatever display names there are, every tool is shown once and its name leads back to it"
) {
    using names = std::map<std::string, std::string>;
    const std::vector<std::string> natives{"a", "b", "c", "d"};
    for (const auto& shown :
         {names{{"a", "b"}},
          names{{"a", "b"}, {"b", "a"}},
          names{{"a", "b"}, {"b", "c"}},
          names{{"a", "b"}, {"b", "c"}, {"c", "d"}},
          names{{"a", "a"}},
          names{{"a", "d"}, {"b", "c"}}}) {
        office o;
        o.servers[0].tool_name_to_display_name = shown;
        directory d(o.rules, o.servers);
        for (const auto& where : {o.everything, o.only_github}) {
            std::set<std::string> seen;
            for (const auto& native : natives) {
                auto name = d.public_tool(where, 0, native);
                CAPTURE(name);
                CHECK(seen.insert(name).second);
                CHECK(d.resolve(where, name, true)->native == native);
            }
        }
        for (const auto& [native, display] : shown) {
            CHECK(d.public_tool(o.only_github, 0, native) == display);
            CHECK(d.native_of(0, display, true) == native);
        }
    }
}

TEST_CASE("a tool whose name another has taken is told apart by who took it") {
    office o;
    o.servers[0].tool_name_to_display_name = {{"a", "b"}, {"c", "d"}, {"d", "e"}};
    directory d(o.rules, o.servers);
    auto taken_by = [&](std::size_t server, std::string_view native) {
        return d.show_tool(o.everything, server, native).taken_by;
    };
    CHECK(taken_by(0, "b") == "a");
    CHECK(taken_by(0, "e") == "d");
    CHECK_FALSE(taken_by(0, "a"));
    CHECK_FALSE(taken_by(0, "d")); // it has a display name of its own
    CHECK_FALSE(taken_by(1, "b"));
    CHECK(d.public_name(o.only_github, 0, "b") == "b"); // of a prompt, say
    CHECK(d.native_of(0, "b", false) == "b");
}
