// What is remembered of a server is remembered for those who see it the same way (decision 1).
#include "town.hpp"

using namespace sluice;
using namespace sluice::gateway::test;
using sluice::gateway::viewpoint_of;

namespace {

std::shared_ptr<const net::fields> tenant(std::string name) {
    auto fields = std::make_shared<net::fields>();
    fields->add("X-Tenant", std::move(name));
    return fields;
}

// Lists the tool of the tenant that asks, and echoes calls.
void per_tenant(conversation& with) {
    auto who = with.headers.empty() ? std::string("nobody") : with.headers.front().second;
    auto shown = echo({"tool-of-" + who});
    shown(with);
}

void with_two_hosts(town& t) {
    t.add("a", R"({"tools":{}})", per_tenant).extra_headers = {"x-tenant"};
    t.add("b", R"({"tools":{}})", echo({"other"}));
    t.open();
}

} // namespace

TEST_CASE("a bare name of one tenant's list is unknown to another tenant") {
    town t;
    with_two_hosts(t);
    t.run([](town& in) -> task<> {
        in.headers = tenant("one");
        auto mine = co_await in.ask(call_of("1", "tool-of-one"));
        REQUIRE(mine.size() == 1);
        CHECK(mine[0].find("\"result\"") != std::string::npos);

        in.headers = tenant("two");
        auto foreign = co_await in.ask(call_of("2", "tool-of-one"));
        REQUIRE(foreign.size() == 1);
        CHECK(foreign[0].find("-32602") != std::string::npos);
        auto own = co_await in.ask(call_of("3", "tool-of-two"));
        REQUIRE(own.size() == 1);
        CHECK(own[0].find("\"result\"") != std::string::npos);
    });
}

TEST_CASE("hosts that look alike to a server share what is known of it") {
    town t;
    with_two_hosts(t);
    t.run([](town& in) -> task<> {
        in.headers = tenant("one");
        auto first = co_await in.ask(call_of("1", "tool-of-one"));
        auto lists = in.seen(0).methods();
        in.host = *in.sessions->open({});
        auto second = co_await in.ask(call_of("2", "tool-of-one"));
        REQUIRE(second.size() == 1);
        CHECK(second[0].find("\"result\"") != std::string::npos);
        CHECK(lists == words{"tools/list", "tools/call"});
        CHECK(in.seen(0).methods() == words{"tools/list", "tools/call", "tools/call"});
    });
}

TEST_CASE("a viewpoint is made of what goes up and what is declared, and of nothing else") {
    upstream::server_settings s;
    s.kind = upstream::transport::http;
    upstream::open_request plain;
    upstream::open_request other;
    other.revision = "2024-11-05";
    CHECK(viewpoint_of(s, 0, plain) == viewpoint_of(s, 0, other));
    CHECK(viewpoint_of(s, 0, plain) != viewpoint_of(s, 1, plain));

    auto asked = plain;
    asked.capabilities = R"({"sampling":{}})";
    CHECK(viewpoint_of(s, 0, asked) != viewpoint_of(s, 0, plain));
    auto one = plain;
    one.headers = {{"a", "b"}, {"c", "d"}};
    auto two = plain;
    two.headers = {{"a", "bcd"}};
    CHECK(viewpoint_of(s, 0, one) != viewpoint_of(s, 0, two));
    CHECK(viewpoint_of(s, 0, one) != viewpoint_of(s, 0, plain));
    CHECK(viewpoint_of(s, 0, one).as.size() == 32); // a digest: no credential is kept

    s.kind = upstream::transport::stdio; // one process for all of them
    CHECK(viewpoint_of(s, 0, one) == viewpoint_of(s, 0, plain));
}
