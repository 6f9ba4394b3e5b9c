#include "policy/access.hpp"

#include <doctest/doctest.h>

#include <type_traits>

using namespace sluice;
using namespace sluice::policy;

namespace {

using names = std::vector<std::string>;

upstream::server_settings github() {
    upstream::server_settings s;
    s.name = "github";
    s.alias = "gh";
    s.access_groups = {"dev", "ops"};
    return s;
}

bool sees(const principal& who, const upstream::server_settings& s, std::string_view tool) {
    return authoriser(settings{}, {s}).may(who, s, item_kind::tool, tool);
}

bool uses(const principal& who, const upstream::server_settings& s) {
    return authoriser(settings{}, {s}).may(who, s);
}

} // namespace

static_assert(!std::is_default_constructible_v<grant>);
static_assert(!std::is_constructible_v<grant, caller, std::string, item_kind, std::string>);

TEST_CASE("a key without servers and groups may use every server") {
    CHECK(uses(principal{}, github()));
}

TEST_CASE("a key's servers are matched by name and by alias, its groups by the server's groups") {
    principal who;
    who.servers = names{"github"};
    CHECK(uses(who, github()));
    who.servers = names{"gh"};
    CHECK(uses(who, github()));
    who.servers = names{"jira"};
    CHECK_FALSE(uses(who, github()));
    who.groups = names{"ops"};
    CHECK(uses(who, github()));
    who.groups = names{"sales"};
    CHECK_FALSE(uses(who, github()));
}

TEST_CASE("a list of servers that is written out empty allows none, except those open to all keys"
) {
    principal who;
    who.servers = names{};
    auto server = github();
    CHECK_FALSE(uses(who, server));
    server.allow_all_keys = true;
    CHECK(uses(who, server));
}

TEST_CASE("an empty alias is not a name") {
    principal who;
    who.servers = names{""};
    auto server = github();
    server.alias.clear();
    CHECK_FALSE(uses(who, server));
}

TEST_CASE("a server's allow list wins over its deny list") {
    auto server = github();
    server.disallowed_tools = {"delete"};
    CHECK_FALSE(sees(principal{}, server, "delete"));
    CHECK(sees(principal{}, server, "read"));
    server.allowed_tools = {"delete", "list"};
    CHECK(sees(principal{}, server, "delete"));
    CHECK_FALSE(sees(principal{}, server, "read"));
}

TEST_CASE("a key's tools narrow further, in three spellings") {
    principal who;
    who.tools = names{"read", "github/list", "gh-search", "jira/delete", "jira-write"};
    CHECK(sees(who, github(), "read"));
    CHECK(sees(who, github(), "list"));
    CHECK(sees(who, github(), "search"));
    CHECK_FALSE(sees(who, github(), "delete"));
    CHECK_FALSE(sees(who, github(), "write"));
    CHECK_FALSE(sees(who, github(), "ad"));
    auto server = github();
    server.disallowed_tools = {"read"};
    CHECK_FALSE(sees(who, server, "read"));
}

TEST_CASE("a key's tools do not hide prompts and resources of its servers") {
    principal who;
    who.tools = names{};
    authoriser a{settings{}, {github()}};
    CHECK(a.may(who, github(), item_kind::prompt, "summary"));
    CHECK(a.may(who, github(), item_kind::resource, "file:///x"));
    CHECK_FALSE(a.may(who, github(), item_kind::tool, "read"));
}

TEST_CASE("a call that may be made yields a grant that says what for") {
    auto who = std::make_shared<const principal>();
    auto got = authoriser(settings{}, {github()}).authorise(who, github(), item_kind::tool, "read");
    REQUIRE(got.ok());
    CHECK((*got).server() == "github");
    CHECK((*got).item() == "read");
    CHECK((*got).who() == who);
}

TEST_CASE("what may not be seen looks as if it did not exist") {
    auto who = std::make_shared<principal>();
    who->servers = names{"jira"};
    auto got = authoriser(settings{}, {github()}).authorise(who, github(), item_kind::tool, "read");
    REQUIRE_FALSE(got.ok());
    CHECK(got.error().code == base::errc::not_found);
    CHECK_FALSE(authoriser(settings{}, {github()})
                    .authorise(nullptr, github(), item_kind::tool, "read")
                    .ok());
}

TEST_CASE("an argument outside allowed_params is forbidden by name; other tools are not limited") {
    auto server = github();
    server.allowed_params["search"] = {"query"};
    auto who = std::make_shared<const principal>();
    authoriser a{settings{}, {github()}};
    names good{"query"};
    names bad{"query", "token"};
    CHECK(a.authorise(who, server, item_kind::tool, "search", good).ok());
    CHECK(a.authorise(who, server, item_kind::tool, "search").ok());
    CHECK(a.authorise(who, server, item_kind::tool, "list", bad).ok());
    auto refused = a.authorise(who, server, item_kind::tool, "search", bad);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == base::errc::forbidden);
    CHECK(refused.error().message.find("\"token\"") != std::string::npos);
}

TEST_CASE("an entry that names a configured server grants no other server's tool of that name") {
    principal who;
    who.tools = names{"alpha-one", "gh/list", "get-issue"};
    auto alpha = github();
    alpha.name = "alpha";
    alpha.alias.clear();
    auto beta = alpha;
    beta.name = "beta";
    authoriser judge(settings{}, {alpha, beta, github()});
    CHECK(judge.may(who, alpha, item_kind::tool, "one"));
    CHECK_FALSE(judge.may(who, beta, item_kind::tool, "alpha-one"));
    CHECK_FALSE(judge.may(who, beta, item_kind::tool, "gh/list"));
    CHECK_FALSE(judge.may(who, beta, item_kind::tool, "one"));
    CHECK(judge.may(who, beta, item_kind::tool, "get-issue")); // no server is called "get"
}

TEST_CASE("an entry that could mean two tools grants neither; in a form that means one it grants it"
) {
    auto a = github();
    a.name = "a";
    a.alias.clear();
    auto ab = a;
    ab.name = "a-b";
    ab.alias = "x";
    auto named = a; // one server whose alias begins with its name
    named.name = "n";
    named.alias = "n-n";
    std::vector<upstream::server_settings> all{a, ab, named};
    authoriser judge(settings{}, all);
    auto granted = [&](std::string entry) {
        principal who;
        who.tools = names{std::move(entry)};
        std::string list;
        for (const auto& server : all) {
            for (auto tool : {"c", "b-c", "b/c", "n-c", "n/c"}) {
                if (!judge.may(who, server, item_kind::tool, tool)) continue;
                list += (list.empty() ? "" : " ") + server.name + ":" + tool;
            }
        }
        return list;
    };
    for (auto entry : {"a-b-c", "a-b/c", "n-n-c", "n-n/c"}) {
        CAPTURE(entry);
        CHECK(judge.readings(entry).size() == 2);
        CHECK(granted(entry).empty());
    }
    CHECK(granted("a/b-c") == "a:b-c");
    CHECK(granted("a/b/c") == "a:b/c");
    CHECK(granted("x-c") == "a-b:c");
    CHECK(granted("x/c") == "a-b:c");
    CHECK(granted("n/c") == "n:c");
    CHECK(granted("n/n-c") == "n:n-c");
    CHECK(granted("c") == "a:c a-b:c n:c");
}
