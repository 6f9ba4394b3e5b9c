// The lists: the union of many upstreams, page by page, and what a broken one does to it.
#include "town.hpp"

using namespace sluice;
using namespace sluice::gateway::test;

namespace {

constexpr auto with_tools = R"({"tools":{}})";

std::string result_of(const std::string& answer) {
    auto parsed = wire::parse_message(answer);
    REQUIRE(parsed);
    REQUIRE(parsed->kind == wire::message_kind::result);
    return std::string(parsed->view(parsed->result));
}

words names_in(const std::string& answer) {
    words out;
    auto result = result_of(answer);
    for (auto item : wire::array_view(wire::object_view(result).find("tools").value_or("[]"))) {
        out.push_back(wire::unescape(wire::object_view(item).find("name").value_or("\"\"")));
    }
    return out;
}

std::string cursor_in(const std::string& answer) {
    auto result = result_of(answer);
    return std::string(wire::object_view(result).find("nextCursor").value_or(""));
}

// Lists `total` tools, `size` a page; its cursor is the number of the next one.
script paged(int total, int size) {
    return [=](conversation& with) {
        auto cursor = with.request.string_at(with.request.cursor);
        int from = cursor ? std::stoi(*cursor) : 0;
        int to = std::min(from + size, total);
        std::string items;
        for (int i = from; i < to; ++i)
            items += (i == from ? "" : ",") + ("{\"name\":\"t" + std::to_string(i)) + "\"}";
        std::string next = to < total ? ",\"nextCursor\":\"" + std::to_string(to) + "\"" : "";
        with.result("{\"tools\":[" + items + "]" + next + "}");
    };
}

std::string list_of(const std::string& cursor = {}) {
    return request_of("1", "tools/list", cursor.empty() ? "{}" : "{\"cursor\":" + cursor + "}");
}

} // namespace

TEST_CASE("an aggregate lists every upstream's tools under its prefix and names every outcome") {
    town t;
    t.add("a", with_tools, echo({"x"}));
    t.add("b", with_tools, echo({"x", "y"}));
    t.open();
    t.run([](town& in) -> task<> {
        auto got = co_await in.ask(list_of());
        REQUIRE(got.size() == 1);
        CHECK(names_in(got[0]) == words{"a-x", "b-x", "b-y"});
        CHECK(
            got[0].find(R"("a":{"outcome":"ok","count":1},"b":{"outcome":"ok","count":2})") !=
            std::string::npos
        );
        CHECK(cursor_in(got[0]).empty());
    });
}

TEST_CASE("a broken upstream is named in the outcomes and empties no list") {
    town t;
    t.add("a", with_tools, echo({"x"}));
    t.add("down", with_tools, echo({"y"}));
    t.add("odd", with_tools, [](conversation& with) { with.result(R"({"tools":"none"})"); });
    t.add("denies", with_tools, [](conversation& with) {
        with.fail({base::errc::forbidden, "http://secret/", 403});
    });
    t.open();
    t.servers[1]->down = base::fault(base::errc::unreachable, "connection refused");
    t.run([](town& in) -> task<> {
        auto got = co_await in.ask(list_of());
        REQUIRE(got.size() == 1);
        CHECK(names_in(got[0]) == words{"a-x"});
        CHECK(got[0].find(R"("down":{"outcome":"unreachable"})") != std::string::npos);
        CHECK(got[0].find(R"("odd":{"outcome":"upstream_error"})") != std::string::npos);
        CHECK(
            got[0].find(R"("denies":{"outcome":"forbidden","http_status":403})") !=
            std::string::npos
        );
        CHECK(got[0].find("secret") == std::string::npos);
    });
}

TEST_CASE("when nobody could be listed that is an error, not an empty list") {
    town t;
    t.add("a", with_tools, echo({"x"}));
    t.open();
    t.servers[0]->down = base::fault(base::errc::unreachable, "connection refused");
    t.run([](town& in) -> task<> {
        auto got = co_await in.ask(list_of());
        REQUIRE(got.size() == 1);
        CHECK(got[0].find("\"error\"") != std::string::npos);
        CHECK(got[0].find("sluice/server_outcomes") != std::string::npos);
    });
}

TEST_CASE("a single server's list is its own answer, byte for byte") {
    town t;
    t.add("a", with_tools, [](conversation& with) {
        with.result(R"({ "ttl":1.0,"tools":[ {"name":"x" , "n":1e400} ] ,"_meta":{"k":[ ]}})");
    });
    t.open();
    t.run([](town& in) -> task<> {
        auto got = co_await in.ask(list_of(), "a");
        CHECK(
            got ==
            words{
                R"({"jsonrpc":"2.0","id":1,"result":{ "ttl":1.0,"tools":[ {"name":"x" , "n":1e400} ] ,"_meta":{"k":[ ]}}})"
            }
        );
    });
}

TEST_CASE("what the configuration hides is in no list, and what it renames is renamed") {
    town t;
    auto& a = t.add("a", with_tools, echo({"x", "hidden", "y"}));
    a.disallowed_tools = {"hidden"};
    a.tool_name_to_display_name = {{"y", "why"}};
    t.open();
    t.run([](town& in) -> task<> {
        auto merged = co_await in.ask(list_of());
        CHECK(names_in(merged[0]) == words{"a-x", "a-why"});
        auto single = co_await in.ask(list_of(), "a");
        CHECK(names_in(single[0]) == words{"x", "why"});
    });
}

TEST_CASE("pages of unequal upstreams joined are the whole list, once each") {
    town t;
    t.add("a", with_tools, paged(5, 2));
    t.add("b", with_tools, paged(1, 9));
    t.add("c", with_tools, paged(7, 3));
    t.open();
    t.run([](town& in) -> task<> {
        words all;
        std::string cursor;
        for (int page = 0; page < 10; ++page) {
            auto got = co_await in.ask(list_of(cursor));
            REQUIRE(got.size() == 1);
            for (auto& name : names_in(got[0]))
                all.push_back(std::move(name));
            cursor = cursor_in(got[0]);
            if (cursor.empty()) break;
        }
        CHECK(cursor.empty());
        std::sort(all.begin(), all.end());
        words want = {
            "a-t0",
            "a-t1",
            "a-t2",
            "a-t3",
            "a-t4",
            "b-t0",
            "c-t0",
            "c-t1",
            "c-t2",
            "c-t3",
            "c-t4",
            "c-t5",
            "c-t6"
        };
        CHECK(all == want);
    });
}

TEST_CASE("a cursor may be used again and gives the same page") {
    town t;
    t.add("a", with_tools, paged(5, 2));
    t.open();
    t.run([](town& in) -> task<> {
        auto first = co_await in.ask(list_of());
        auto cursor = cursor_in(first[0]);
        auto once = co_await in.ask(list_of(cursor));
        auto again = co_await in.ask(list_of(cursor));
        CHECK(names_in(once[0]) == words{"a-t2", "a-t3"});
        CHECK(names_in(again[0]) == names_in(once[0]));
    });
}

TEST_CASE("a cursor of one endpoint is no cursor of another, and garbage is none at all") {
    town t;
    t.add("a", with_tools, paged(5, 2));
    t.open();
    t.run([](town& in) -> task<> {
        auto first = co_await in.ask(list_of());
        auto cursor = cursor_in(first[0]);
        auto elsewhere = co_await in.ask(list_of(cursor), "a");
        CHECK(elsewhere[0].find("-32602") != std::string::npos);
        auto garbage = co_await in.ask(list_of("\"x\""));
        CHECK(garbage[0].find("-32602") != std::string::npos);
    });
}

TEST_CASE("an upstream that fails on a later page is an error, never a gap") {
    town t;
    t.add("a", with_tools, [](conversation& with) {
        if (with.request.cursor.present()) return with.fail({base::errc::closed, "cut"});
        with.result(R"({"tools":[{"name":"x"}],"nextCursor":"2"})");
    });
    t.add("b", with_tools, paged(5, 2));
    t.open();
    t.run([](town& in) -> task<> {
        auto first = co_await in.ask(list_of());
        auto second = co_await in.ask(list_of(cursor_in(first[0])));
        CHECK(second[0].find("\"error\"") != std::string::npos);
        CHECK(second[0].find("\"server\":\"a\"") != std::string::npos);
    });
}

TEST_CASE("an upstream that repeats a cursor is told apart from one that goes on") {
    town t;
    t.add("a", with_tools, [](conversation& with) {
        with.result(R"({"tools":[{"name":"x"}],"nextCursor":"same"})");
    });
    t.open();
    t.run([](town& in) -> task<> {
        auto first = co_await in.ask(list_of());
        auto second = co_await in.ask(list_of(cursor_in(first[0])));
        CHECK(second[0].find("\"error\"") != std::string::npos);
    });
}

TEST_CASE(
    "without a salt a list of several pages is the configuration's error, never a shortened list"
) {
    for (std::string_view endpoint : {"", "a"}) {
        town t;
        t.salts.clear();
        t.add("a", with_tools, paged(5, 2));
        t.open();
        t.run([endpoint](town& in) -> task<> {
            auto got = co_await in.ask(list_of(), endpoint);
            CHECK(got[0].find("\"error\"") != std::string::npos);
            CHECK(got[0].find("salt") != std::string::npos);
        });
    }
}
