// The demo upstream's MCP session, whatever the transport: requests in, notes and one response out.
// Speaks 2024-11-05 … 2025-11-25. Used by `http` and `stdio`.
// A cancelled request gets no response; its outlet is told so.
#pragma once

#include "aio/channel.hpp"
#include "aio/task.hpp"
#include "base/result.hpp"
#include "wire/message.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace sluice::app::demo {

struct options {
    std::uint32_t extra_tools = 0; // item-1 … item-N beside the named ones
    std::uint32_t page_size = 0;   // of tools/list; 0 = everything on one page
};

// Where the messages of one request go, in order. A host that is gone is no reason to stop a call.
class outlet {
public:
    virtual ~outlet() = default;
    virtual aio::task<> note(std::string message) = 0;
    virtual aio::task<> finish(std::string response) = 0;
    virtual aio::task<> finish_cancelled() = 0;
};

// What a handler says: a result's JSON text, a JSON-RPC error, or nothing (cancelled).
struct answer {
    std::string result;
    int code = 0;
    std::string message;
    std::string data;
    bool cancelled = false;

    static answer of(std::string result_text) {
        answer a;
        a.result = std::move(result_text);
        return a;
    }
    static answer failure(int code, std::string message, std::string data = {}) {
        answer a;
        a.code = code;
        a.message = std::move(message);
        a.data = std::move(data);
        return a;
    }
    static answer nothing() {
        answer a;
        a.cancelled = true;
        return a;
    }
};

class session {
public:
    session(aio::executor ex, options wanted) : ex_(ex), options_(wanted) {}

    aio::task<> request(wire::message m, outlet& out);
    // A notification, or the answer to a question of ours.
    void take(const wire::message& m);
    void cancel_everything();

    bool opened() const { return !revision_.empty(); }
    const std::string& revision() const { return revision_; }
    static bool knows(std::string_view revision);

private:
    // One running call: the place it waits at, and whether it was cancelled there.
    struct call {
        explicit call(aio::executor ex) : flag(ex) {}
        aio::signal_flag flag;
        bool cancelled = false;
        std::optional<std::string> heard; // the answer to its question, exact
        bool heard_error = false;
    };

    aio::task<answer> dispatch(const wire::message& m, call& c, outlet& out);
    aio::task<answer> call_tool(const wire::message& m, call& c, outlet& out);
    aio::task<answer> countdown(const wire::message& m, call& c, outlet& out);
    aio::task<answer> slow(const wire::message& m, call& c, outlet& out);
    aio::task<answer> ask(const wire::message& m, call& c, outlet& out);
    aio::task<> log(outlet& out, int level, std::string text);
    answer initialize(const wire::message& m);
    answer echo(const wire::message& m) const;
    answer bad_arguments(std::string what) const;
    answer set_level(const wire::message& m);

    aio::executor ex_;
    options options_;
    std::string revision_;
    std::optional<int> log_level_; // nothing is logged before logging/setLevel
    std::unordered_map<wire::token, call*> running_;
    bool host_answers_ = false; // it declared elicitation
    std::uint64_t questions_ = 0;
    std::unordered_map<std::string, call*> asking_; // by the question's id, as JSON text
};

} // namespace sluice::app::demo
