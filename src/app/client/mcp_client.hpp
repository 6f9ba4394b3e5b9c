// A real MCP client over Streamable HTTP, revision 2025-11-25: what `sluice list` and `sluice call`
// speak. One session: open(), requests one at a time, close(). JSON and SSE answers, resume by
// Last-Event-ID. A question of the server goes to `on_question`; who takes it answers with
// answer(). Others are refused (ping apart, which is answered).
#pragma once

#include "aio/deadlines.hpp"
#include "aio/task.hpp"
#include "base/result.hpp"
#include "net/http_client.hpp"
#include "wire/message.hpp"
#include "wire/sse.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::app {

struct mcp_client_settings {
    net::url endpoint;
    net::fields headers;                 // sent with every request
    std::chrono::milliseconds silence{}; // how long an answer may say nothing at all
    std::string capabilities = "{}";     // declared at initialize; JSON text
};

class mcp_client {
public:
    // Every notification that comes while a request runs, in order.
    using note_sink = std::function<void(const wire::message&)>;

    mcp_client(aio::loop& loop, aio::deadlines& deadlines, mcp_client_settings settings);

    // initialize and notifications/initialized; the result of initialize.
    aio::task<base::result<wire::message>> open();
    // The response; a JSON-RPC error is a message too. Faults: unreachable, timeout, protocol, ….
    aio::task<base::result<wire::message>>
    request(std::string method, std::string params, note_sink on_note = nullptr);
    aio::task<base::result<void>> notify(std::string method, std::string params);
    // A response to a question, as its JSON-RPC text.
    aio::task<base::result<void>> answer(std::string body);
    // Ends the session at the server, when it has one.
    aio::task<> close();

    // Called for every question but ping; false = refuse it. While one is open the client is
    // patient: the server waits for us, so its silence is no fault.
    std::function<bool(const wire::message&)> on_question;
    void be_patient(bool yes);

    const std::string& revision() const { return revision_; }
    // The id of the request that is running or ran last.
    std::uint64_t last_id() const { return next_id_ - 1; }

private:
    // What one stream of events has come to.
    struct reading {
        std::optional<wire::message> response;
        std::string last_event_id;
        bool has_event_id = false;
        std::chrono::milliseconds retry{1'000};
        std::string want; // the id's JSON text
        note_sink on_note;
    };
    using response_ptr = std::unique_ptr<net::client_response>;

    aio::task<base::result<response_ptr>>
    send(std::string method, std::string body, net::fields more);
    aio::task<base::result<wire::message>> read_answer(response_ptr answer, reading& r);
    aio::task<base::result<void>> read_events(net::client_response& answer, reading& r);
    aio::task<base::result<wire::message>> resume(reading& r);
    aio::task<base::result<void>> take(std::string data, reading& r);
    aio::task<base::result<void>> answer_question(const wire::message& question);
    aio::task<base::fault> explain(net::client_response& answer);
    aio::task<base::result<std::string>> read_more(net::client_response& answer);
    aio::instant patience() const { return aio::clock::now() + settings_.silence; }

    mcp_client_settings settings_;
    net::http_pool pool_;
    std::string revision_;
    std::string session_id_;
    std::uint64_t next_id_ = 1;
    bool patient_ = false;
    aio::instant patient_until_{}; // when it last ceased to be
};

} // namespace sluice::app
