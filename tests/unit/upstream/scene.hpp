// A scripted MCP upstream on loopback and a server object under test that talks to it.
// The upstream records every request; what it answers to a call is the test's choosing.
#pragma once

#include "../net/run.hpp"
#include "net/http_server.hpp"
#include "upstream/server.hpp"
#include "wire/message.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sluice::upstream::test {

using net::test::patience;

inline aio::instant soon() {
    return aio::clock::now() + patience;
}

inline aio::task<> until(std::function<bool()> met) {
    auto limit = soon();
    while (!met() && aio::clock::now() < limit)
        co_await aio::pause(std::chrono::milliseconds(2));
    CHECK(met());
}

struct seen_request {
    net::request_head head;
    std::string body;
    std::string header(std::string_view name) const {
        return std::string(head.headers.get(name).value_or(""));
    }
    bool is(std::string_view method) const {
        return body.find("\"method\":\"" + std::string(method) + "\"") != body.npos;
    }
};

inline net::response json(std::string body, int status = 200) {
    net::response out;
    out.status = status;
    out.headers.add("Content-Type", "application/json");
    out.body = std::move(body);
    return out;
}

inline net::response_head event_stream() {
    net::response_head head;
    head.headers.add("Content-Type", "text/event-stream");
    return head;
}

inline const std::string init_result =
    R"({"protocolVersion":"2025-06-18","capabilities":{"tools":{}},)"
    R"("serverInfo":{"name":"s","version":"1"},"instructions":"use \"it\""})";

// The id a request carries, as text.
inline std::string id_of(const std::string& body) {
    auto message = wire::parse_message(body);
    return message ? std::string(message->view(message->id)) : std::string();
}

struct scene {
    using handler = std::function<aio::task<>(scene&, net::exchange&, const seen_request&)>;

    explicit scene(handler on_call, server_settings about = {}, circuit_settings rules = {})
        : on_call(std::move(on_call)),
          http(loop, deadlines, {}, [this](net::exchange& e) { return serve(e); }) {
        REQUIRE(http.listen("127.0.0.1:0"));
        about.name = "up";
        about.url = "http://127.0.0.1:" + std::to_string(http.port()) + "/mcp";
        under_test = make_server(around(), std::move(about), {}, rules);
    }

    surroundings around() {
        return {loop, deadlines, nullptr, [this](std::string_view, std::string_view text) {
                    said.emplace_back(text);
                }};
    }

    void run(std::function<aio::task<>(scene&)> body) {
        auto all = [](scene& s, std::function<aio::task<>(scene&)> inner) -> aio::task<> {
            co_await inner(s);
            co_await s.under_test->shut_down();
            co_await s.http.drain(std::chrono::seconds(3));
        };
        net::test::run(loop, all(*this, std::move(body)));
    }

    aio::task<std::shared_ptr<link>> open() {
        open_request request;
        request.until = soon();
        auto opened = co_await under_test->open(std::move(request));
        REQUIRE_MESSAGE(opened.ok(), (opened ? "" : opened.error().message));
        co_return *opened;
    }

    // Answers what opens and ends a session; anything else goes to on_call.
    aio::task<> serve(net::exchange& e) {
        seen_request request{e.head(), {}};
        auto body = co_await e.read_body();
        if (body) request.body = std::move(*body);
        seen.push_back(request);
        net::response answer;
        answer.status = 202;
        if (request.head.method == "DELETE") answer.status = 405;
        bool opens = request.is("initialize");
        if (opens) {
            answer = json(wire::make_result(id_of(request.body), init_result));
            if (!session_id.empty()) answer.headers.add("Mcp-Session-Id", session_id);
        }
        bool notice = request.is("notifications/initialized") ||
                      request.is("notifications/cancelled") || request.head.method == "DELETE";
        if (opens || notice) {
            (void)co_await e.respond(std::move(answer));
            co_return;
        }
        co_await on_call(*this, e, request);
    }

    std::size_t count(std::string_view method) const {
        std::size_t n = 0;
        for (const auto& one : seen)
            n += one.is(method);
        return n;
    }
    const seen_request* first(std::string_view method) const {
        for (const auto& one : seen)
            if (one.is(method)) return &one;
        return nullptr;
    }

    aio::loop loop;
    aio::deadlines deadlines{loop.get_executor()};
    handler on_call;
    std::string session_id = "abc";
    std::vector<seen_request> seen;
    std::vector<std::string> said;
    net::http_server http;
    std::unique_ptr<server> under_test;
};

inline outgoing ask(std::string text, repeat again = repeat::never) {
    auto message = wire::parse_message(std::move(text));
    REQUIRE(message.ok());
    outgoing out;
    out.message = std::make_shared<const wire::message>(std::move(*message));
    out.again = again;
    out.until = soon();
    return out;
}

inline const std::string plain_call =
    R"({"jsonrpc":"2.0","id":"host-7","method":"tools/call","params":{"name":"a-b","arguments":{"n":9007199254740993}}})";
inline const std::string watched_call =
    R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":"host"}}})";

inline std::string progress(std::string_view token, int value) {
    return R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":)" +
           std::string(token) + R"(,"progress":)" + std::to_string(value) + "}}";
}

inline std::string event(const std::string& data, const std::string& id = {}) {
    std::string out;
    if (!id.empty()) out += "id: " + id + "\n";
    return out + "data: " + data + "\n\n";
}

// One whole answer: how many notes, and the response or the fault that ended it.
struct heard {
    std::vector<std::string> notes;
    std::vector<std::uint32_t> pauses;
    std::string response;
    base::fault fault{base::errc::internal, "none"};
};

inline aio::task<heard> listen(reply& from) {
    heard out;
    for (;;) {
        auto got = co_await from.next(soon());
        if (!got) {
            out.fault = got.error();
            co_return out;
        }
        if (got->what == step::kind::pause) {
            out.pauses.push_back(got->retry_ms);
        } else if (got->message.is_response()) {
            out.response = got->message.bytes;
        } else {
            out.notes.push_back(got->message.bytes);
        }
    }
}

// Sends and listens to the end; a fault of the sending counts as the answer's.
inline aio::task<heard> call(link& over, outgoing request) {
    auto begun = co_await over.call(std::move(request));
    heard out;
    if (!begun) {
        out.fault = begun.error();
        co_return out;
    }
    co_return co_await listen(**begun);
}

} // namespace sluice::upstream::test
