// Where names and URIs lead on an aggregate.
#include "town.hpp"

using namespace sluice;
using namespace sluice::gateway::test;

namespace {

constexpr auto with_tools = R"({"tools":{}})";

void silent(conversation&) {}

} // namespace

TEST_CASE("a bare name routes when every list is complete and only one server has it") {
    town t;
    t.add("a", with_tools, echo({"x", "both"}));
    t.add("b", with_tools, echo({"y", "both"}));
    t.add("c", R"({"prompts":{}})", silent);
    t.open();
    t.run([](town& in) -> task<> {
        auto got = co_await in.ask(call_of("1", "y"));
        REQUIRE(got.size() == 1);
        CHECK(got[0].find("\"echo\"") != std::string::npos);
        CHECK(in.seen(1).calls.back()->request.method_is("tools/call"));
        auto ambiguous = co_await in.ask(call_of("2", "both"));
        CHECK(ambiguous[0].find("-32602") != std::string::npos);
        CHECK(ambiguous[0].find("'a-both' or 'b-both'") != std::string::npos);
        auto unknown = co_await in.ask(call_of("3", "nothing"));
        CHECK(unknown[0].find("\"code\":-32602") != std::string::npos);
        CHECK(unknown[0].find("Unknown tool: nothing") != std::string::npos);
    });
}

TEST_CASE("a bare name never routes while a list goes on behind its first page") {
    town t;
    t.add("a", with_tools, echo({"x"}));
    t.add("b", with_tools, [](conversation& with) {
        with.result(R"({"tools":[],"nextCursor":"more"})");
    });
    t.open();
    t.run([](town& in) -> task<> {
        auto got = co_await in.ask(call_of("1", "x"));
        CHECK(got[0].find("'a-x'") != std::string::npos);
        CHECK(got[0].find("-32602") != std::string::npos);
    });
}

TEST_CASE("a shortened name is found by paging its own server alone, and a stranger like it is not"
) {
    std::string longest(90, 'n');
    town t;
    t.add("a", with_tools, echo({}));
    t.add("b", with_tools, [longest](conversation& with) {
        if (!with.request.method_is("tools/list"))
            return with.result("{\"echo\":" + with.params() + "}");
        bool first = !with.request.cursor.present();
        if (first) return with.result(R"({"tools":[{"name":"short"}],"nextCursor":"2"})");
        with.result("{\"tools\":[{\"name\":\"" + longest + "\"}]}");
    });
    t.open();
    t.run([longest](town& in) -> task<> {
        auto shown = mcp::public_name({}, "b", longest);
        auto got = co_await in.ask(call_of("1", shown));
        REQUIRE(got.size() == 1);
        CHECK(got[0].find("\"name\":\"" + longest + "\"") != std::string::npos);
        CHECK(in.seen(0).calls.empty());
    });
}

TEST_CASE("a tool that the caller may not use looks like one that does not exist") {
    town t;
    auto& a = t.add("a", with_tools, echo({"x", "secret"}));
    a.disallowed_tools = {"secret"};
    t.open();
    t.run([](town& in) -> task<> {
        auto refused = co_await in.ask(call_of("1", "a-secret"));
        auto unknown = co_await in.ask(call_of("1", "a-secret2"));
        CHECK(refused[0].find("Unknown tool: a-secret") != std::string::npos);
        CHECK(refused[0].find("-32602") != std::string::npos);
        for (const auto& c : in.seen(0).calls)
            CHECK(c->params().find("\"secret\"") == std::string::npos);
    });
}

TEST_CASE(
    "a resource is asked for at one server after the other that has resources, until one has it"
) {
    constexpr auto resources = R"({"resources":{}})";
    town t;
    t.add("a", resources, [](conversation& with) { with.error(-32002, "not here"); });
    t.add("tools", with_tools, silent);
    t.add("b", resources, [](conversation& with) { with.result(R"({"contents":[]})"); });
    t.open();
    t.run([](town& in) -> task<> {
        in.in->known.learn({1}, {"2025-11-25", with_tools, "{}", ""});
        auto got = co_await in.ask(request_of("1", "resources/read", R"({"uri":"f:\/\/x"})"));
        CHECK(got == words{R"({"jsonrpc":"2.0","id":1,"result":{"contents":[]}})"});
        CHECK(in.seen(0).calls.size() == 1);
        CHECK(in.seen(1).calls.empty());
        CHECK(in.seen(2).calls[0]->params() == R"({"uri":"f:\/\/x"})");
    });
}

TEST_CASE("a server that turns out to have no resources does not end the search for one") {
    auto no_method = [](conversation& with) { with.error(-32601, "Method not found"); };
    auto not_here = [](conversation& with) { with.error(-32002, "not here"); };
    town t;
    t.add("a", with_tools, no_method); // not met before: it may have resources
    t.add("b", R"({"resources":{}})", [](conversation& with) {
        with.result(R"({"contents":[]})");
    });
    t.add("c", R"({"resources":{}})", not_here);
    t.add("d", with_tools, no_method);
    t.open();
    t.run([&](town& in) -> task<> {
        auto read = request_of("1", "resources/read", R"({"uri":"f:\/\/x"})");
        auto got = co_await in.ask(read, "a,b");
        CHECK(got == words{R"({"jsonrpc":"2.0","id":1,"result":{"contents":[]}})"});
        // Nobody has it: the answer is of one that knows resources, in whatever order they were
        // asked.
        for (const char* order : {"c,d", "d,c"}) {
            auto missing = co_await in.ask(read, order);
            REQUIRE(missing.size() == 1);
            CHECK(missing[0].find("-32002") != std::string::npos);
        }
        auto alone = co_await in.ask(read, "a");
        REQUIRE(alone.size() == 1);
        CHECK(alone[0].find("-32601") != std::string::npos);
    });
}
