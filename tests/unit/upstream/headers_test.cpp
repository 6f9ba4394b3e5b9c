#include "upstream/handshake.hpp"
#include "upstream/request_headers.hpp"
#include "upstream/stdio_process.hpp"

#include <doctest/doctest.h>

using namespace sluice;
using namespace sluice::upstream;

namespace {

std::string credential(auth_type type, const char* name) {
    server_settings s;
    s.auth.type = type;
    s.auth.value = base::secret("v");
    return std::string(own_headers(s).get(name).value_or("(none)"));
}

} // namespace

TEST_CASE("each kind of credential has its header") {
    CHECK(credential(auth_type::bearer_token, "authorization") == "Bearer v");
    CHECK(credential(auth_type::api_key, "x-api-key") == "v");
    CHECK(credential(auth_type::basic, "authorization") == "Basic v");
    CHECK(credential(auth_type::authorization, "authorization") == "v");
    CHECK(credential(auth_type::token, "authorization") == "token v");
    CHECK(credential(auth_type::none, "authorization") == "(none)");
}

TEST_CASE("static headers win over the credential and over forwarded ones") {
    server_settings s;
    s.auth.type = auth_type::bearer_token;
    s.auth.value = base::secret("v");
    s.static_headers.emplace_back("authorization", base::secret("mine"));
    s.extra_headers = {"authorization", "x-a"};
    auto out = own_headers(s);
    add_forwarded(out, {{"Authorization", "theirs"}, {"X-A", "1"}}, s);
    CHECK(out.count("Authorization") == 1);
    CHECK(out.get("authorization") == "mine");
    CHECK(out.get("x-a") == "1");
}

TEST_CASE("hop headers, unnamed credentials and broken values never go up") {
    server_settings s;
    net::fields out;
    add_forwarded(
        out,
        {{"Host", "h"},
         {"Transfer-Encoding", "chunked"},
         {"Mcp-Session-Id", "s"},
         {"Cookie", "c"},
         {"Authorization", "a"},
         {"X-Sluice-Api-Key", "k"},
         {"X-Split", "a\r\nEvil: 1"},
         {"X-Fine", "f"}},
        s
    );
    REQUIRE(out.all().size() == 1);
    CHECK(out.get("x-fine") == "f");
    s.extra_headers = {"authorization"};
    add_forwarded(out, {{"Authorization", "a"}}, s);
    CHECK(out.get("authorization") == "a");
}

TEST_CASE("a request is rewritten for its hop and not otherwise") {
    auto text =
        R"({ "jsonrpc":"2.0","method":"tools/call","id":"x","params":{"_meta":{"progressToken":0,"k":1.10},"name":"p-t"}})";
    auto message = wire::parse_message(text);
    REQUIRE(message.ok());
    outgoing out;
    out.message = std::make_shared<const wire::message>(std::move(*message));
    out.edits.push_back({out.message->name, "\"t\""});
    CHECK(
        for_this_hop(out, "41") ==
        R"({ "jsonrpc":"2.0","method":"tools/call","id":41,"params":{"_meta":{"progressToken":41,"k":1.10},"name":"t"}})"
    );
}

TEST_CASE("what counts as an answer to initialize") {
    auto read = [](std::string result) {
        auto message = wire::parse_message(wire::make_result("1", result));
        REQUIRE(message.ok());
        return read_initialize(*message);
    };
    CHECK(read(R"({"protocolVersion":"2024-11-05","capabilities":{}})").ok());
    CHECK_FALSE(read(R"({"protocolVersion":"2026-07-28","capabilities":{}})").ok());
    CHECK_FALSE(read(R"({"protocolVersion":"1","capabilities":{}})").ok());
    CHECK_FALSE(read(R"({"protocolVersion":1})").ok());
    CHECK_FALSE(read(R"({"protocolVersion":"2025-06-18","capabilities":[]})").ok());
    CHECK_FALSE(read(R"({})").ok());
    CHECK_FALSE(read("[]").ok());
    auto error = wire::parse_message(wire::make_error("1", -32602, "secret prose"));
    auto refused = read_initialize(*error);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == base::errc::upstream_error);
    CHECK(refused.error().message.find("prose") == std::string::npos);
}

TEST_CASE("an answer to initialize that says twice what is read is refused") {
    auto code = [](std::string rest) {
        auto text = R"({"protocolVersion":"2025-06-18","capabilities":{"tools":{"x":1,"x":2}})";
        auto message = wire::parse_message(wire::make_result("1", text + rest + "}"));
        REQUIRE(message.ok());
        auto read = read_initialize(*message);
        return read ? std::string("ok") : std::string(name_of(read.error().code));
    };
    CHECK(code(R"(,"other":1,"other":2)") == "ok");
    CHECK(code(R"(,"protocolVersion":"2025-06-18")") == "protocol");
    CHECK(code(R"(,"cap\u0061bilities":{})") == "protocol");
    CHECK(code(R"(,"serverInfo":{},"serverInfo":{})") == "protocol");
    CHECK(code(R"(,"instructions":"a","instructions":"b")") == "protocol");
    auto doubled = [](std::string capabilities) {
        auto text = R"({"protocolVersion":"2025-06-18","capabilities":)" + capabilities + "}";
        return !read_initialize(*wire::parse_message(wire::make_result("1", text)));
    };
    CHECK(doubled(R"({"tools":{},"t\u006fols":{}})"));
    CHECK(doubled(R"({"resources":{"subscribe":true,"subscribe":false}})"));
    CHECK_FALSE(doubled(R"({"experimental":{},"experimental":{},"tools":{}})"));
}

TEST_CASE("a child sees the variables that are allowed, and its own") {
    stdio_settings all;
    all.environment = {"PATH", "LC_*"};
    server_settings s;
    s.env.emplace("KEY", base::secret("k"));
    s.env.emplace("PATH", base::secret("/own"));
    const char* ours[] = {"PATH=/bin", "LC_ALL=C", "LCX=1", "AWS_SECRET=s", "broken", nullptr};
    auto got = child_environment(all, s, ours);
    std::vector<std::pair<std::string, std::string>> want{
        {"KEY", "k"}, {"LC_ALL", "C"}, {"PATH", "/own"}
    };
    CHECK(got == want);
}

TEST_CASE("a chatty stderr is thinned, long lines are cut, control characters go") {
    line_thinner thin(2, 4);
    aio::instant now{};
    now += std::chrono::hours(1);
    CHECK(thin.take("a\x1b[31m", now) == std::vector<std::string>{"a [3 …"});
    CHECK(thin.take("b", now).size() == 1);
    CHECK(thin.take("c", now).empty());
    CHECK(thin.take("d", now).empty());
    auto later = thin.take("e", now + std::chrono::seconds(2));
    CHECK(later == std::vector<std::string>{"(2 lines left out)", "e"});
}
