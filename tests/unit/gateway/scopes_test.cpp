// Which servers an endpoint means, and for whom.
#include "town.hpp"

using namespace sluice;
using namespace sluice::gateway::test;

namespace {

using indices = std::vector<std::size_t>;

void furnish(town& t) {
    auto& a = t.add("github", "{}", [](conversation&) {});
    a.alias = "gh";
    a.access_groups = {"dev"};
    t.add("jira", "{}", [](conversation&) {}).access_groups = {"dev"};
    t.add("mail", "{}", [](conversation&) {});
    t.open();
    t.run([](town&) -> task<> { co_return; });
}

} // namespace

TEST_CASE(
    "an endpoint means all servers, those it names, or those of a group, in configuration order"
) {
    town t;
    furnish(t);
    CHECK(t.walk->scope_for(*t.who, "")->servers == indices{0, 1, 2});
    CHECK(t.walk->scope_for(*t.who, "mail,gh")->servers == indices{0, 2});
    CHECK(t.walk->scope_for(*t.who, "dev")->servers == indices{0, 1});
    CHECK(t.walk->scope_for(*t.who, "dev,gh,github")->servers == indices{0, 1});
}

TEST_CASE(
    "exactly one server's name or alias makes an endpoint transparent, a group of one does not"
) {
    town t;
    furnish(t);
    t.settings[2].access_groups = {"alone"};
    CHECK(t.walk->scope_for(*t.who, "gh")->single);
    CHECK(t.walk->scope_for(*t.who, "github")->single);
    CHECK_FALSE(t.walk->scope_for(*t.who, "gh,mail")->single);
    CHECK_FALSE(t.walk->scope_for(*t.who, "")->single);
    CHECK_FALSE(t.walk->scope_for(*t.who, "alone")->single);
}

TEST_CASE("an unknown name is not found and named, a forbidden one is the same sentence") {
    town t;
    furnish(t);
    auto unknown = t.walk->scope_for(*t.who, "gh,nobody");
    REQUIRE_FALSE(unknown);
    CHECK(unknown.error().code == base::errc::not_found);
    CHECK(unknown.error().message.find("'nobody'") != std::string::npos);
    policy::principal narrow;
    narrow.servers = words{"jira"};
    auto forbidden = t.walk->scope_for(narrow, "mail");
    REQUIRE_FALSE(forbidden);
    auto same = unknown.error().message;
    same.replace(same.find("nobody"), 6, "mail");
    CHECK(forbidden.error().message == same);
    CHECK(t.walk->scope_for(narrow, "")->servers == indices{1});
    CHECK(t.walk->scope_for(narrow, "dev")->servers == indices{1});
}

TEST_CASE("x-mcp-servers narrows, an empty one means none, a name that is not there is not found") {
    town t;
    furnish(t);
    auto all = [&] { return *t.walk->scope_for(*t.who, ""); };
    CHECK(t.walk->narrow(all(), "mail, gh")->servers == indices{0, 2});
    CHECK(t.walk->narrow(all(), "dev")->servers == indices{0, 1});
    CHECK(t.walk->narrow(all(), "")->servers.empty());
    CHECK_FALSE(t.walk->narrow(all(), "nobody"));
    auto two = *t.walk->scope_for(*t.who, "gh,mail");
    CHECK_FALSE(t.walk->narrow(two, "jira"));
}
