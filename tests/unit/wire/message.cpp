#include "wire/message.hpp"

#include <doctest/doctest.h>

using namespace sluice;
using namespace sluice::wire;
using base::errc;

namespace {

message parsed(std::string bytes) {
    auto m = parse_message(std::move(bytes));
    if (!m) FAIL(m.error().message);
    return *std::move(m);
}

errc refusal(std::string bytes) {
    auto m = parse_message(std::move(bytes));
    REQUIRE_FALSE(m.ok());
    return m.error().code;
}

std::string with_token(std::string_view token_text) {
    return R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":)" +
           std::string(token_text) + "}}}";
}

std::string with_id(std::string_view id_text) {
    return R"({"jsonrpc":"2.0","id":)" + std::string(id_text) + R"(,"method":"ping"})";
}

} // namespace

TEST_CASE("a request's spans give the exact text of what stands there") {
    const message m = parsed(
        R"( {"params" : {"arguments":{"n":9007199254740993,"name":"inner"}, "name" : "t\u006fol",)"
        R"("_meta":{"progressToken":"p","io.modelcontextprotocol/protocolVersion":"2026-07-28"}},)"
        R"("method":"tools\/call","id":"\u0061","jsonrpc":"2.0","extra":[1]} )"
    );
    CHECK(m.kind == message_kind::request);
    CHECK(m.method_text() == "tools/call");
    CHECK(m.method_is("tools/call"));
    CHECK_FALSE(m.method_is("tools/list"));
    CHECK(m.view(m.id) == R"("\u0061")");
    CHECK(m.view(m.name) == R"("t\u006fol")");
    CHECK(m.string_at(m.name) == "tool");
    CHECK(m.view(m.arguments) == R"({"n":9007199254740993,"name":"inner"})");
    CHECK(m.view(m.progress_token) == "\"p\"");
    CHECK(m.view(m.meta_protocol_version) == "\"2026-07-28\"");
    CHECK_FALSE(m.uri.present());
    CHECK_FALSE(m.string_at(m.arguments).has_value());
}

TEST_CASE("spans outlive moves and copies of the message") {
    message a = parsed(R"({"jsonrpc":"2.0","id":1,"method":"m"})");
    const message copy = a;
    const message moved = std::move(a);
    CHECK(copy.view(copy.id) == "1");
    CHECK(moved.view(moved.method) == "\"m\"");
}

TEST_CASE("the reference of a completion is taken apart") {
    const message m = parsed(
        R"({"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt",)"
        R"("name":"p"},"name":"outer"}})"
    );
    CHECK(m.string_at(m.ref_type) == "ref/prompt");
    CHECK(m.string_at(m.ref_name) == "p");
    CHECK(m.string_at(m.name) == "outer");
    CHECK_FALSE(m.ref_uri.present());
}

TEST_CASE("kinds follow from the members there are") {
    CHECK(parsed(R"({"jsonrpc":"2.0","id":0,"method":"m"})").kind == message_kind::request);
    CHECK(parsed(R"({"jsonrpc":"2.0","id":"","method":"m"})").kind == message_kind::request);
    CHECK(parsed(R"({"jsonrpc":"2.0","method":"m"})").kind == message_kind::notification);
    CHECK(parsed(R"({"jsonrpc":"2.0","id":1,"result":{}})").kind == message_kind::result);
    CHECK(
        parsed(R"({"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":""}})").kind ==
        message_kind::error
    );
}

TEST_CASE("results and errors show what relaying needs") {
    const message call =
        parsed(R"({"jsonrpc":"2.0","id":1,"result":{"isError":true,"_meta":{"a":1}}})");
    CHECK(call.is_error);
    CHECK(call.view(call.result_meta) == R"({"a":1})");
    CHECK_FALSE(parsed(R"({"jsonrpc":"2.0","id":1,"result":{"isError":false}})").is_error);

    const message page =
        parsed(R"({"jsonrpc":"2.0","id":1,"result":{"tools":[],"nextCursor":""}})");
    CHECK(page.string_at(page.next_cursor) == "");
    const message last = parsed(R"({"jsonrpc":"2.0","id":1,"result":{"nextCursor":null}})");
    CHECK_FALSE(last.next_cursor.present());

    const message error =
        parsed(R"({"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no","data":1}})");
    CHECK(error.view(error.error_code) == "-32602");
    CHECK(error.string_at(error.error_message) == "no");
}

TEST_CASE("an error may say that it could not read the id; a result may not") {
    CHECK_FALSE(
        parsed(R"({"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}})").id.present()
    );
    CHECK_FALSE(
        parsed(R"({"jsonrpc":"2.0","error":{"code":1,"message":""}})").id_token().has_value()
    );
    CHECK(refusal(R"({"jsonrpc":"2.0","id":null,"result":{}})") == errc::invalid_request);
    CHECK(refusal(R"({"jsonrpc":"2.0","result":{}})") == errc::invalid_request);
}

TEST_CASE("what is not JSON is a parse error, even behind a bad envelope") {
    CHECK(refusal("") == errc::parse_error);
    CHECK(refusal("[1") == errc::parse_error);
    CHECK(refusal(R"({"jsonrpc":"1.0","id":1,"id":2)") == errc::parse_error);
    CHECK(refusal(R"({"jsonrpc":"2.0","method":"m"} x)") == errc::parse_error);
    CHECK(refusal("{\"jsonrpc\":\"2.0\",\"method\":\"\xC0\x80\"}") == errc::parse_error);
    const std::string deep = std::string(126, '[') + std::string(126, ']');
    const auto at_depth = [](const std::string& inner) {
        return R"({"jsonrpc":"2.0","method":"m","params":{"a":)" + inner + "}}";
    };
    CHECK(parse_message(at_depth(deep)).ok());
    CHECK(refusal(at_depth("[" + deep + "]")) == errc::parse_error);
}

TEST_CASE("JSON that is no message we accept is an invalid request") {
    for (const char* text :
         {"1",
          "null",
          "[]",
          R"([{"jsonrpc":"2.0","method":"m"}])",
          "{}",
          R"({"method":"m"})",
          R"({"jsonrpc":"1.0","method":"m"})",
          R"({"jsonrpc":2.0,"method":"m"})",
          R"({"jsonrpc":"2.0"})",
          R"({"jsonrpc":"2.0","id":1})",
          R"({"jsonrpc":"2.0","method":1})",
          R"({"jsonrpc":"2.0","id":1,"method":"m","result":{}})",
          R"({"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}})",
          R"({"jsonrpc":"2.0","id":1,"error":null})",
          R"({"jsonrpc":"2.0","id":1,"error":{"code":1}})",
          R"({"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":""}})",
          R"({"jsonrpc":"2.0","id":1,"error":{"code":1,"message":2}})",
          R"({"jsonrpc":"2.0","id":1,"method":"m","params":null})",
          R"({"jsonrpc":"2.0","id":1,"method":"m","params":"x"})"}) {
        CAPTURE(text);
        CHECK(refusal(text) == errc::invalid_request);
    }
}

TEST_CASE("ids are strings or integers") {
    for (const char* id :
         {"0", "\"\"", "-7", "9007199254740993", "18446744073709551615", "\"7\""}) {
        const message m = parsed(with_id(id));
        REQUIRE(m.id_token().has_value());
        CHECK(m.id_token()->text() == id);
    }
    for (const char* id : {"null", "1.5", "1e3", "true", "{}", "[]"})
        CHECK(refusal(with_id(id)) == errc::invalid_request);
}

TEST_CASE("every legal progress token is kept with its type and text") {
    for (const char* text :
         {"0", "\"\"", "-7", "9007199254740993", "18446744073709551615", "\"0\"", "\"\\u0000\""}) {
        const message m = parsed(with_token(text));
        CHECK(m.view(m.progress_token) == text);
    }
    CHECK_FALSE(parsed(with_id("1")).progress_token.present());
}

TEST_CASE("any other progress token is an invalid parameter") {
    for (const char* text : {"1.5", "1e3", "true", "{}", "[]", "null"})
        CHECK(refusal(with_token(text)) == errc::invalid_params);
}

TEST_CASE("a progress note's token and a cancellation's request id are tokens as well") {
    const message note = parsed(
        R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":0,"progress":1.10}})"
    );
    CHECK(note.view(note.progress_token) == "0");
    CHECK(note.view(note.progress) == "1.10");
    CHECK(
        refusal(
            R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1.5}})"
        ) == errc::invalid_params
    );

    const message cancel = parsed(
        R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"","reason":"x"}})"
    );
    CHECK(cancel.request_id_token()->text() == "\"\"");
    CHECK(cancel.string_at(cancel.reason) == "x");
    CHECK(
        refusal(
            R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":null}})"
        ) == errc::invalid_params
    );
}

TEST_CASE("those names mean nothing in other messages") {
    CHECK(
        parse_message(
            R"({"jsonrpc":"2.0","method":"notifications/x","params":{"progressToken":1.5,"requestId":{}}})"
        )
            .ok()
    );
    const message call =
        parsed(R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"progressToken":5}})");
    CHECK_FALSE(call.progress_token.present());
}

TEST_CASE("parameters of the wrong shape are invalid") {
    CHECK(refusal(R"({"jsonrpc":"2.0","id":1,"method":"m","params":[]})") == errc::invalid_params);
    CHECK(
        refusal(R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":[]}})") ==
        errc::invalid_params
    );
}

TEST_CASE("a member read for a decision may occur once, however it is spelled") {
    for (const char* text :
         {R"({"jsonrpc":"2.0","jsonrpc":"2.0","method":"m"})",
          R"({"jsonrpc":"2.0","id":1,"\u0069d":2,"method":"m"})",
          R"({"jsonrpc":"2.0","id":1,"method":"m","metho\u0064":"n"})",
          R"({"jsonrpc":"2.0","id":1,"method":"m","params":{},"params":{}})",
          R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"name":"a","n\u0061me":"b"}})",
          R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{},"_meta":{}}})",
          R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"progressToken":1,"progressToken":1}}})",
          R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"ref":{"name":"a","name":"b"}}})",
          R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"cursor":"a","cursor":"b"}})",
          R"({"jsonrpc":"2.0","id":1,"result":{"nextCursor":"a","nextCursor":"b"}})",
          R"({"jsonrpc":"2.0","id":1,"result":{},"result":{}})",
          R"({"jsonrpc":"2.0","id":1,"error":{"code":1,"code":1,"message":""}})"}) {
        CAPTURE(text);
        CHECK(refusal(text) == errc::invalid_request);
    }
}

TEST_CASE("a member that nobody reads may occur as often as it likes") {
    CHECK(
        parse_message(
            R"({"jsonrpc":"2.0","x":1,"x":2,"id":1,"method":"m","params":{"arguments":{"name":1,"name":2},"id":1,"id":2}})"
        )
            .ok()
    );
}

TEST_CASE("a refused request still gives its id for the answer") {
    const auto id_of = [](std::string bytes) {
        std::string id;
        CHECK_FALSE(parse_message(std::move(bytes), {}, &id).ok());
        return id;
    };
    CHECK(
        id_of(
            R"({"jsonrpc":"2.0","id":"a\n","method":"m","params":{"_meta":{"progressToken":1.5}}})"
        ) == R"("a\n")"
    );
    CHECK(id_of(R"({"jsonrpc":"1.0","id":0})") == "0");
    CHECK(id_of(R"({"jsonrpc":"2.0","id":1,"id":2,"method":"m"})").empty());
    CHECK(id_of(R"({"jsonrpc":"2.0","id":1.5,"method":"m"})").empty());
    CHECK(id_of(R"({"jsonrpc":"2.0","id":1,)").empty());
}

TEST_CASE("of a refused message it is known whether it wants an answer") {
    const auto known_of = [](std::string bytes) {
        unaccepted known;
        CHECK_FALSE(parse_message(std::move(bytes), {}, known).ok());
        return known;
    };
    const auto note = known_of(
        R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":null}})"
    );
    CHECK(note.is_call);
    CHECK(note.id.empty());
    const auto request = known_of(R"({"jsonrpc":"2.0","id":7,"method":"m","params":[]})");
    CHECK(request.is_call);
    CHECK(request.id == "7");
    CHECK_FALSE(known_of(R"({"jsonrpc":"2.0","id":7,"method":"m","result":1})").is_call);
    CHECK_FALSE(known_of(R"({"jsonrpc":"2.0","id":7,"result":{},"error":{}})").is_call);
    CHECK_FALSE(known_of(R"({"jsonrpc":"2.0","method":"m","params":{"uri":1,"uri":1}})").is_call);
    CHECK_FALSE(known_of(R"({"jsonrpc":"2.0","method":"m","params":[)").is_call);
}

TEST_CASE("a rewrite changes the named members and keeps every other byte") {
    const message m = parsed(
        R"({ "jsonrpc":"2.0", "x":1.10, "id":5,"method":"tools/call","params":{"name":"a-t","arguments":{"n":-0.0,"u":"\u00e9"},"_meta":{"progressToken":"p"}}})"
    );
    CHECK(
        rewrite(
            m,
            {{m.progress_token, "18446744073709551615"},
             {m.id, "\"g1\""},
             {m.name, "\"t\""},
             {m.uri, "\"no\""}}
        ) ==
        R"({ "jsonrpc":"2.0", "x":1.10, "id":"g1","method":"tools/call","params":{"name":"t","arguments":{"n":-0.0,"u":"\u00e9"},"_meta":{"progressToken":18446744073709551615}}})"
    );
    CHECK(rewrite(m, {}) == m.bytes);
}

TEST_CASE("insertions at one place keep their order and come before a replacement there") {
    const message m = parsed(R"({"jsonrpc":"2.0","id":5,"method":"m"})");
    const span front{m.id.begin, m.id.begin};
    CHECK(
        rewrite(m, {{m.id, "9"}, {front, "1"}, {front, "2"}}) ==
        R"({"jsonrpc":"2.0","id":129,"method":"m"})"
    );
}

TEST_CASE("a rewrite fits one line") {
    const message m = parsed("{\"jsonrpc\":\"2.0\",\r\n\"id\":5,\n\"method\":\"a\\nb\"}\n");
    CHECK(
        rewrite(m, {{m.id, "[\n1]"}}) ==
        "{\"jsonrpc\":\"2.0\",  \"id\":[ 1], \"method\":\"a\\nb\"} "
    );
}

TEST_CASE("the writers write messages that parse") {
    const message result = parsed(make_result("\"a\"", "{\"x\":\n1.10}"));
    CHECK(result.bytes == R"({"jsonrpc":"2.0","id":"a","result":{"x": 1.10}})");
    const message error = parsed(make_error("null", -32602, "no \"such\" tool", "[1]"));
    CHECK(
        error.bytes ==
        R"({"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"no \"such\" tool","data":[1]}})"
    );
    CHECK(make_error("1", 0, "") == R"({"jsonrpc":"2.0","id":1,"error":{"code":0,"message":""}})");
    CHECK(make_request("0", "ping") == R"({"jsonrpc":"2.0","id":0,"method":"ping"})");
    CHECK(make_request("0", "m", "{}") == R"({"jsonrpc":"2.0","id":0,"method":"m","params":{}})");
    CHECK(make_notification("n\"", "{}") == R"({"jsonrpc":"2.0","method":"n\"","params":{}})");
    CHECK(parsed(make_notification("n")).is_notification());
}

TEST_CASE("a batch is split into the exact texts of its elements") {
    CHECK(looks_like_batch(" \r\n[1]"));
    CHECK_FALSE(looks_like_batch("{\"a\":[]}"));
    CHECK_FALSE(looks_like_batch(""));
    const auto parts = split_batch(R"( [ {"a": 1.10} ,{"b":[]}, 5 ] )");
    REQUIRE(parts.ok());
    CHECK(*parts == std::vector<std::string>{R"({"a": 1.10})", R"({"b":[]})", "5"});
    CHECK(split_batch("[]").error().code == errc::invalid_request);
    CHECK(split_batch("{}").error().code == errc::invalid_request);
    CHECK(split_batch("[1").error().code == errc::parse_error);
}

TEST_CASE("the beginning of a message tells whose answer it is, where it can") {
    CHECK(response_id_of(R"({"jsonrpc":"2.0","id":7,"result":{"a":"xx)") == "7");
    CHECK(response_id_of(R"( {"id":"a\u0062", "result")") == R"("a\u0062")");
    CHECK(response_id_of(R"({"method":"m","id":7,"params":{)") == "");
    CHECK(response_id_of(R"({"id":7,"method":"m","params":{)") == "");
    CHECK_FALSE(response_id_of(R"({"jsonrpc":"2.0","id":7)"));
    CHECK_FALSE(response_id_of(R"({"jsonrpc":"2.0","result":{"a":"xx)"));
    CHECK_FALSE(response_id_of(R"([{"id":7,)"));
    CHECK_FALSE(response_id_of(""));
}
