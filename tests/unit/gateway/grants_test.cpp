// Nothing goes to an upstream without a grant, and a grant is good for its own server and caller.
#include "gateway/links.hpp"
#include "gateway/relay.hpp"
#include "town.hpp"

#include <type_traits>

using namespace sluice;
using namespace sluice::gateway::test;

namespace {

// A request cannot be put together without a grant, and nobody but the authoriser makes one.
static_assert(!std::is_default_constructible_v<gateway::request_to>);
static_assert(!std::is_default_constructible_v<policy::grant>);
static_assert(!std::is_constructible_v<
              policy::grant,
              policy::caller,
              std::string,
              policy::item_kind,
              std::string>);
static_assert(!std::is_default_constructible_v<gateway::own_request>);

std::shared_ptr<gateway::operation> listing(town& in) {
    auto parsed = wire::parse_message(request_of("1", "tools/list"));
    auto op = std::make_shared<gateway::operation>();
    op->message = std::make_shared<const wire::message>(std::move(*parsed));
    op->host = in.host;
    op->call = *in.host->begin_call(*op->message->id_token(), in.host->open_stream(1), 0);
    op->caller = in.who;
    op->method = &mcp::describe(mcp::method::tools_list);
    return op;
}

// From now on the caller of all sessions may use nothing that is here.
void take_everything_from(town& t) {
    auto narrow = std::make_shared<policy::principal>();
    narrow->servers = std::vector<std::string>{"elsewhere"};
    t.who = std::move(narrow);
}

auto open_link(town& in) {
    return gateway::links_of(*in.in, *in.host).ensure(in.all[0], nullptr, aio::test::late());
}

} // namespace

TEST_CASE("a grant for one server does not open another") {
    town t;
    t.add("a", R"({"tools":{}})", echo({"x"}));
    t.add("b", R"({"tools":{}})", echo({"y"}));
    t.open();
    t.run([](town& in) -> task<> {
        auto op = listing(in);
        auto grant = gateway::may_ask(*in.in, *op, 0);
        REQUIRE(grant);
        gateway::request_to what{*grant, 1};
        what.silence = what.longest = std::chrono::seconds(5);
        bool thrown = false;
        try {
            auto answer = co_await gateway::ask(*in.in, op, std::move(what));
        } catch (const std::logic_error&) {
            thrown = true;
        }
        CHECK(thrown);
        CHECK(in.seen(1).calls.empty());
        in.host->end_call(*op->call);
    });
}

TEST_CASE("a server that the caller may not use gives no grant") {
    town t;
    t.add("a", R"({"tools":{}})", echo({"x"}));
    t.open();
    auto narrow = std::make_shared<policy::principal>();
    narrow->servers = std::vector<std::string>{"b"};
    t.who = std::move(narrow);
    t.run([](town& in) -> task<> {
        auto op = listing(in);
        CHECK(!gateway::may_ask(*in.in, *op, 0));
        in.host->end_call(*op->call);
        co_return;
    });
}

TEST_CASE("what the gateway asks by itself needs a grant for that server too") {
    town t;
    t.add("a", R"({"logging":{}})", echo({}));
    t.add("b", R"({"logging":{}})", echo({}));
    t.open();
    t.run([](town& in) -> task<> {
        auto link = co_await open_link(in);
        REQUIRE(link);
        auto grant = in.permit(in.host->who(), *in.all[1]);
        REQUIRE(grant);
        gateway::own_request what{*grant, "logging/setLevel", "{\"level\":\"info\"}"};
        bool thrown = false;
        try {
            auto answer = co_await gateway::ask_quietly(*in.all[0], *link, std::move(what));
        } catch (const std::logic_error&) {
            thrown = true;
        }
        CHECK(thrown);
        CHECK(in.seen(0).calls.empty());
    });
}

TEST_CASE("a level is set again only where the session's caller may still ask") {
    for (bool may : {true, false}) {
        town t;
        t.add("a", R"({"logging":{}})", echo({}));
        t.open();
        t.run([may](town& in) -> task<> {
            co_await in.host->change_log_level("info");
            if (!may) take_everything_from(in);
            auto link = co_await open_link(in);
            REQUIRE(link);
            auto wanted = may ? words{"logging/setLevel"} : words{};
            CHECK(in.seen(0).methods() == wanted);
        });
    }
}

TEST_CASE("what was subscribed at a shared process is taken back, whatever the caller may by then"
) {
    town t;
    auto& shared = t.add("a", R"({"resources":{"subscribe":true}})", echo({}));
    shared.kind = upstream::transport::stdio;
    t.open();
    t.run([](town& in) -> task<> {
        auto answers = co_await in.ask(request_of("1", "resources/subscribe", R"({"uri":"x:1"})"));
        REQUIRE(answers.size() == 1);
        take_everything_from(in);
        auto ended = co_await in.sessions->end(in.host);
        CHECK(ended);
        co_await settle();
        CHECK(in.seen(0).methods() == words{"resources/subscribe", "resources/unsubscribe"});
    });
}
