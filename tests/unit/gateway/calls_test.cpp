// Calls on their walk: names, bytes, progress, cancels, faults.
#include "gateway/relay.hpp"
#include "town.hpp"

using namespace sluice;
using namespace sluice::gateway::test;

namespace {

constexpr auto with_tools = R"({"tools":{}})";

void silent(conversation&) {}

} // namespace

TEST_CASE("a call goes to the server of its prefix under the native name, all other bytes untouched"
) {
    town t;
    t.add("a", with_tools, echo({"x"}));
    t.add("b", with_tools, echo({"x"}));
    t.open();
    t.run([](town& in) -> task<> {
        auto got = co_await in.ask(call_of(
            "\"i\\u0064\"", "b-x", R"("arguments":{ "n":1.0, "big":10000000000000000000001})"
        ));
        CHECK(
            got ==
            words{
                R"({"jsonrpc":"2.0","id":"i\u0064","result":{"echo":{"name":"x","arguments":{ "n":1.0, "big":10000000000000000000001}}}})"
            }
        );
        CHECK(in.seen(0).calls.empty());
        CHECK(in.seen(1).calls.size() == 1);
    });
}

TEST_CASE("progress comes under the host's own token, text and type, in order and before the result"
) {
    for (std::string token :
         {"0", "\"\"", "-7", "9007199254740993", "18446744073709551615", "\"\\u0061\"", "\"1\""}) {
        CAPTURE(token);
        town t;
        t.add("a", with_tools, [](conversation& with) {
            with.progress("\"progress\":1");
            with.progress("\"progress\":2.50,\"total\":1e1");
            with.result("{}");
        });
        t.open();
        t.run([token](town& in) -> task<> {
            auto got =
                co_await in.ask(call_of("1", "a-x", "\"_meta\":{\"progressToken\":" + token + "}"));
            REQUIRE(got.size() == 3);
            CHECK(
                got[0].find("\"progressToken\":" + token + ",\"progress\":1}") != std::string::npos
            );
            CHECK(
                got[1].find("\"progressToken\":" + token + ",\"progress\":2.50,\"total\":1e1}") !=
                std::string::npos
            );
        });
    }
}

TEST_CASE("who gave no token gets no progress") {
    town t;
    t.add("a", with_tools, [](conversation& with) {
        with.note("notifications/progress", R"({"progressToken":"up-1000","progress":1})");
        with.note("notifications/message", R"({"level":"info","data":1})");
        with.result("{}");
    });
    t.open();
    t.run([](town& in) -> task<> {
        auto got = co_await in.ask(call_of("1", "a-x"));
        REQUIRE(got.size() == 2);
        CHECK(got[0].find("notifications/message") != std::string::npos);
    });
}

TEST_CASE("two calls with the same token never cross") {
    town t;
    t.add("a", with_tools, silent);
    t.open();
    t.run([](town& in) -> task<> {
        auto meta = R"("_meta":{"progressToken":1})";
        auto first = in.start(call_of("1", "a-x", meta));
        auto second = in.start(call_of("2", "a-x", meta));
        co_await settle();
        auto& calls = in.seen(0).calls;
        REQUIRE(calls.size() == 2);
        CHECK(calls[0]->token() != calls[1]->token());
        calls[1]->progress("\"progress\":22");
        calls[0]->progress("\"progress\":11");
        calls[1]->result("2");
        calls[0]->result("1");
        auto one = co_await town::read(first);
        auto two = co_await town::read(second);
        REQUIRE(one.size() == 2);
        REQUIRE(two.size() == 2);
        CHECK(one[0].find("\"progress\":11") != std::string::npos);
        CHECK(two[0].find("\"progress\":22") != std::string::npos);
        CHECK(one[1] == R"({"jsonrpc":"2.0","id":1,"result":1})");
    });
}

TEST_CASE("a cancel ends the host's stream at once and goes up with its reason, to that call alone"
) {
    town t;
    t.add("a", with_tools, silent);
    t.add("b", with_tools, silent);
    t.open();
    t.run([](town& in) -> task<> {
        auto victim = in.start(call_of("7", "a-x"));
        auto other = in.start(call_of("8", "a-x"));
        auto elsewhere = in.start(call_of("9", "b-x"));
        co_await settle();
        in.tell(
            R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"no \u006eeed"}})"
        );
        CHECK(victim->done());
        CHECK(victim->last_position() == 0);
        co_await settle();
        CHECK(in.seen(0).calls[0]->cancels == words{R"("no \u006eeed")"});
        CHECK(in.seen(0).calls[1]->cancels.empty());
        CHECK(in.seen(1).calls[0]->cancels.empty());
        CHECK(in.host->calls_under_way() == 2);
        in.seen(0).calls[0]->result("{}"); // late: nobody hears it
        in.seen(0).calls[1]->result("{}");
        auto got = co_await town::read(other);
        CHECK(got.size() == 1);
        CHECK(victim->last_position() == 0);
        CHECK_FALSE(elsewhere->done());
    });
}

TEST_CASE(
    "what another replica had begun is called off at its upstream, also when the cancel comes "
    "before there is a link"
) {
    town t;
    t.add("a", R"({"tools":{}})", [](conversation&) {});
    t.open();
    t.run([](town& in) -> task<> {
        auto parsed = wire::parse_message(call_of("7", "x"));
        auto op = std::make_shared<gateway::operation>();
        op->message = std::make_shared<const wire::message>(std::move(*parsed));
        op->host = in.host;
        op->call = *in.host->begin_call(*op->message->id_token(), in.host->open_stream(1), 0);
        op->method = &mcp::describe(mcp::method::tools_call);
        in.host->cancel(op->call->host_id(), R"("no need")");
        auto answer = co_await gateway::ask_on(*in.in, op, 0, "mark");
        CHECK(answer.error().code == base::errc::cancelled);
        REQUIRE(in.seen(0).calls.size() == 1);
        CHECK(in.seen(0).calls[0]->cancels == words{R"("no need")"});
        in.host->end_call(*op->call);
    });
}

TEST_CASE("cancels of unknown and ended requests are ignored") {
    town t;
    t.add("a", with_tools, echo({"x"}));
    t.open();
    t.run([](town& in) -> task<> {
        auto got = co_await in.ask(call_of("7", "a-x"));
        CHECK(got.size() == 1);
        for (auto id : {"7", "\"7\"", "99"}) {
            in.tell(wire::make_notification(
                "notifications/cancelled", "{\"requestId\":" + std::string(id) + "}"
            ));
        }
        in.tell(wire::make_notification("notifications/cancelled", "{}"));
        co_await settle();
        CHECK(in.seen(0).calls[0]->cancels.empty());
    });
}

TEST_CASE("in a batch a cancelled request says nothing and the other one is answered") {
    town t;
    t.add("a", with_tools, silent);
    t.open();
    t.run([](town& in) -> task<> {
        auto out = in.host->open_stream(2);
        in.start_on(out, call_of("1", "a-x"), {}, 0);
        in.start_on(out, call_of("2", "a-x"), {}, 1);
        co_await settle();
        for (int i = 0; i < 2; ++i)
            in.tell(wire::make_notification("notifications/cancelled", R"({"requestId":1})"));
        co_await settle();
        CHECK_FALSE(out->done());
        in.seen(0).calls[1]->result("{}");
        auto got = co_await town::read(out);
        CHECK(got == words{R"({"jsonrpc":"2.0","id":2,"result":{}})"});
    });
}

TEST_CASE("an upstream that is silent too long is told so, and the host hears which one it was") {
    town t;
    t.add("slow", with_tools, silent).timeout = std::chrono::milliseconds(5);
    t.open();
    t.run([](town& in) -> task<> {
        auto got = co_await in.ask(call_of("1", "slow-x"));
        REQUIRE(got.size() == 1);
        CHECK(got[0].find(R"("data":{"server":"slow","outcome":"timeout"})") != std::string::npos);
        CHECK(in.seen(0).calls[0]->cancels == words{"\"timeout\""});
    });
}

TEST_CASE(
    "on a single server's endpoint its failure has the status of its outcome, on an aggregate not"
) {
    town t;
    t.add("a", with_tools, [](conversation& with) {
        with.fail({base::errc::unauthorized, "upstream prose", 401});
    });
    t.open();
    t.run([](town& in) -> task<> {
        auto single = in.start(call_of("1", "x"), "a");
        single->attach(0);
        auto e = co_await single->next(aio::test::late());
        REQUIRE(e);
        CHECK((*e)->http_status == 401);
        CHECK((*e)->bytes.find("prose") == std::string::npos);
        single->detach();
        auto merged = in.start(call_of("2", "a-x"));
        merged->attach(0);
        auto f = co_await merged->next(aio::test::late());
        REQUIRE(f);
        CHECK((*f)->http_status == 0);
        merged->detach();
    });
}

TEST_CASE("an upstream's own error goes through verbatim with the host's id") {
    town t;
    t.add("a", with_tools, [](conversation& with) {
        with.say(
            R"({"jsonrpc":"2.0","id":)" + with.id() +
            R"(,"error":{ "code":-32000, "message":"\u00e9","data":1.0}})"
        );
    });
    t.open();
    t.run([](town& in) -> task<> {
        auto got = co_await in.ask(call_of("1", "a-x"));
        REQUIRE(got.size() == 1);
        CHECK(
            got[0] ==
            R"({"jsonrpc":"2.0","id":1,"error":{ "code":-32000, "message":"\u00e9","data":1.0}})"
        );
    });
}

TEST_CASE("methods that nobody has, and those that nobody knows, are not found") {
    town t;
    t.add("a", with_tools, echo({}));
    t.open();
    t.run([](town& in) -> task<> {
        in.in->known.learn({0}, {"2025-11-25", with_tools, "{}", ""});
        for (std::string method :
             {"prompts/list", "tasks/list", "nonsense", "notifications/initialized"}) {
            auto got = co_await in.ask(request_of("1", method));
            REQUIRE(got.size() == 1);
            CHECK(got[0].find("-32601") != std::string::npos);
        }
        CHECK(in.seen(0).calls.empty());
    });
}

TEST_CASE("one upstream session serves all calls of a host and is closed with it") {
    town t;
    t.add("a", with_tools, echo({}));
    t.open();
    t.run([](town& in) -> task<> {
        for (int i = 0; i < 3; ++i) {
            auto got = co_await in.ask(call_of("1", "a-x"));
            CHECK(got.size() == 1);
        }
        CHECK(in.seen(0).opened == 1);
        in.host->end();
        co_await settle();
        CHECK(in.seen(0).closed == 1);
    });
}
