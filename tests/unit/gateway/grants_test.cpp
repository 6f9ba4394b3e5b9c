// Nothing goes to an upstream without a grant, and a grant is good for its own server and caller.
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
