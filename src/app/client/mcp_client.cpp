#include "app/client/mcp_client.hpp"

#include "aio/within.hpp"
#include "base/text.hpp"
#include "wire/json.hpp"

namespace sluice::app {

namespace {

using base::errc;
using base::fault;

constexpr std::string_view spoken = "2025-11-25";
constexpr std::size_t max_answer = 64 * 1024 * 1024;
constexpr std::size_t max_prose = 64 * 1024;
constexpr int max_resumes = 8; // in a row without a new event

errc code_of(int status) {
    if (status == 401) return errc::unauthorized;
    if (status == 403) return errc::forbidden;
    if (status == 404) return errc::not_found;
    return errc::protocol;
}

// The sentence inside an error body: JSON-RPC's error.message, or {"error": "…"} with its detail.
std::string prose_of(const std::string& body) {
    if (body.empty() || !wire::validate(body)) return {};
    auto text = base::trim(body);
    if (wire::kind_of(text) != wire::kind::object) return {};
    wire::object_view object(text);
    auto error = object.find("error");
    for (auto inner : {error, std::optional<std::string_view>(text)}) {
        if (!inner || wire::kind_of(*inner) != wire::kind::object) continue;
        for (std::string_view key : {"message", "detail", "error_description"}) {
            auto said = wire::object_view(*inner).find(key);
            if (said && wire::kind_of(*said) == wire::kind::string) return wire::unescape(*said);
        }
    }
    if (error && wire::kind_of(*error) == wire::kind::string) return wire::unescape(*error);
    return {};
}

net::client_settings pool_settings() {
    net::client_settings s;
    s.max_idle = 4;
    return s;
}

} // namespace

mcp_client::mcp_client(aio::loop& loop, aio::deadlines& deadlines, mcp_client_settings settings)
    : settings_(std::move(settings)), pool_(loop, deadlines, settings_.endpoint, pool_settings()) {}

aio::task<base::result<wire::message>> mcp_client::open() {
    std::string params = R"({"protocolVersion":")" + std::string(spoken) + R"(","capabilities":)" +
                         settings_.capabilities + R"(,"clientInfo":{"name":"sluice","version":")" +
                         SLUICE_VERSION + R"("}})";
    auto opened = co_await request("initialize", std::move(params));
    if (!opened) co_return opened.error();
    if (opened->kind != wire::message_kind::result) co_return *opened;
    auto revision = wire::object_view(opened->view(opened->result)).find("protocolVersion");
    if (!revision || wire::kind_of(*revision) != wire::kind::string)
        co_return fault(errc::protocol, "the answer to initialize names no protocolVersion");
    revision_ = wire::unescape(*revision);
    auto told = co_await notify("notifications/initialized", "");
    if (!told) co_return told.error();
    co_return *opened;
}

aio::task<base::result<mcp_client::response_ptr>>
mcp_client::send(std::string method, std::string body, net::fields more) {
    net::client_request r;
    r.method = std::move(method);
    r.target = settings_.endpoint.target;
    r.headers = std::move(more);
    r.headers.add("User-Agent", "sluice/" SLUICE_VERSION);
    if (!session_id_.empty()) r.headers.add("Mcp-Session-Id", session_id_);
    if (!revision_.empty()) r.headers.add("MCP-Protocol-Version", revision_);
    for (const auto& [name, value] : settings_.headers.all())
        r.headers.set(name, value);
    r.body = std::move(body);
    auto answer = co_await pool_.send(std::move(r), patience());
    co_return answer;
}

aio::task<base::result<wire::message>>
mcp_client::request(std::string method, std::string params, note_sink on_note) {
    reading r;
    r.want = std::to_string(next_id_++);
    r.on_note = std::move(on_note);
    std::string body = wire::make_request(r.want, method, params);
    net::fields headers;
    headers.add("Content-Type", "application/json");
    headers.add("Accept", "application/json, text/event-stream");
    auto answer = co_await send("POST", std::move(body), std::move(headers));
    if (!answer) co_return answer.error();
    // The session begins with the answer to initialize.
    if (auto id = (*answer)->head().headers.get("mcp-session-id"); id && session_id_.empty())
        session_id_ = std::string(*id);
    auto response = co_await read_answer(std::move(*answer), r);
    co_return response;
}

aio::task<base::result<wire::message>> mcp_client::read_answer(response_ptr answer, reading& r) {
    const auto& head = answer->head();
    if (head.status != 200) {
        auto why = co_await explain(*answer);
        co_return why;
    }
    auto type = std::string(head.headers.get("content-type").value_or(""));
    auto plain = base::trim(std::string_view(type).substr(0, type.find(';')));
    if (base::iequals(plain, "application/json")) {
        auto body = co_await net::read_all(*answer, max_answer, patience());
        if (!body) co_return body.error();
        auto taken = co_await take(std::move(*body), r);
        if (!taken) co_return taken.error();
        if (!r.response)
            co_return fault(errc::protocol, "the answer is not a response to the request");
        co_return std::move(*r.response);
    }
    if (!base::iequals(plain, "text/event-stream"))
        co_return fault(
            errc::protocol,
            "the answer is neither JSON nor an event stream: is this an MCP endpoint?"
        );
    auto ended = co_await read_events(*answer, r);
    if (r.response) co_return std::move(*r.response);
    answer.reset();
    if (!ended && ended.error().code != errc::closed) co_return ended.error();
    auto rest = co_await resume(r);
    co_return rest;
}

void mcp_client::be_patient(bool yes) {
    if (patient_ && !yes) patient_until_ = aio::clock::now();
    patient_ = yes;
}

// Silence counts from the last byte, or from the answer to the last question if that came later.
aio::task<base::result<std::string>> mcp_client::read_more(net::client_response& answer) {
    auto until = patience();
    for (;;) {
        auto bytes = co_await answer.read_some(until);
        if (bytes || bytes.error().code != errc::timeout) co_return bytes;
        auto later = patient_ ? patience() : patient_until_ + settings_.silence;
        if (later <= until) co_return bytes;
        until = later;
    }
}

// Returns at the response or at the end of the stream.
aio::task<base::result<void>> mcp_client::read_events(net::client_response& answer, reading& r) {
    wire::sse_decoder decoder(max_answer);
    for (;;) {
        auto bytes = co_await read_more(answer);
        if (!bytes) co_return bytes.error();
        if (bytes->empty()) co_return base::result<void>();
        decoder.feed(*bytes);
        while (auto event = decoder.next()) {
            if (event->has_id) {
                r.last_event_id = event->id;
                r.has_event_id = true;
            }
            if (event->retry_ms) r.retry = std::chrono::milliseconds(*event->retry_ms);
            if (event->data.empty()) continue;
            auto taken = co_await take(std::move(event->data), r);
            if (!taken) co_return taken.error();
            if (r.response) co_return base::result<void>();
        }
        if (decoder.too_big())
            co_return fault(errc::too_large, "an event of the answer is too large");
    }
}

// The stream ended before the response: the rest is fetched where the server offers that.
aio::task<base::result<wire::message>> mcp_client::resume(reading& r) {
    fault why(
        errc::closed, "the answer ended before the result; whether the call ran is not known"
    );
    for (int tries = 0; r.has_event_id && tries < max_resumes; ++tries) {
        co_await aio::pause(r.retry);
        std::string before = r.last_event_id;
        net::fields headers;
        headers.add("Accept", "text/event-stream");
        headers.add("Last-Event-ID", before);
        auto answer = co_await send("GET", "", std::move(headers));
        if (!answer) {
            why = answer.error();
            continue;
        }
        if ((*answer)->head().status != 200) {
            auto said = co_await explain(**answer);
            co_return said;
        }
        auto ended = co_await read_events(**answer, r);
        if (r.response) co_return std::move(*r.response);
        if (!ended) why = ended.error();
        if (r.last_event_id != before) tries = 0;
    }
    co_return why;
}

aio::task<base::result<void>> mcp_client::take(std::string data, reading& r) {
    auto m = wire::parse_message(std::move(data));
    if (!m) co_return fault(errc::protocol, "not a JSON-RPC message: " + m.error().message);
    if (m->is_notification()) {
        if (r.on_note) r.on_note(*m);
        co_return base::result<void>();
    }
    if (m->is_request()) {
        auto refused = co_await answer_question(*m);
        co_return refused;
    }
    if (m->view(m->id) == r.want || (!m->id.present() && m->kind == wire::message_kind::error))
        r.response = std::move(*m);
    co_return base::result<void>();
}

aio::task<base::result<void>> mcp_client::answer_question(const wire::message& question) {
    std::string id(question.view(question.id));
    bool ping = question.method_is("ping");
    if (!ping && on_question && on_question(question)) co_return base::result<void>();
    std::string body = ping ? wire::make_result(id, "{}")
                            : wire::make_error(id, -32601, "this client has no such capability");
    auto told = co_await answer(std::move(body));
    bool refused = !told && told.error().http_status != 0; // it heard, and that is enough
    if (told || refused) co_return base::result<void>();
    co_return told;
}

aio::task<base::result<void>> mcp_client::notify(std::string method, std::string params) {
    std::string body = wire::make_notification(method, params);
    auto told = co_await answer(std::move(body));
    co_return told;
}

aio::task<base::result<void>> mcp_client::answer(std::string body) {
    net::fields headers;
    headers.add("Content-Type", "application/json");
    headers.add("Accept", "application/json, text/event-stream");
    auto answer = co_await send("POST", std::move(body), std::move(headers));
    if (!answer) co_return answer.error();
    if ((*answer)->head().status / 100 != 2) {
        auto why = co_await explain(**answer);
        co_return why;
    }
    auto rest = co_await net::read_all(**answer, max_prose, patience());
    (void)rest; // read only to keep the connection
    co_return base::result<void>();
}

aio::task<> mcp_client::close() {
    if (session_id_.empty()) co_return;
    net::fields headers;
    headers.add("Accept", "application/json, text/event-stream");
    auto answer = co_await send("DELETE", "", std::move(headers));
    if (answer) {
        auto rest = co_await net::read_all(**answer, max_prose, patience());
        (void)rest; // 405 is an answer too: the server ends its sessions itself
    }
    session_id_.clear();
}

aio::task<fault> mcp_client::explain(net::client_response& answer) {
    int status = answer.head().status;
    std::string text =
        "the server answered " + std::to_string(status) + " " + std::string(net::reason_of(status));
    if (auto to = answer.head().headers.get("location"); to && status / 100 == 3)
        co_return fault(errc::protocol, text + "; it points to " + std::string(*to), status);
    auto body = co_await net::read_all(answer, max_prose, patience());
    std::string prose = body ? prose_of(*body) : std::string();
    if (!prose.empty()) text += ": " + prose;
    co_return fault(code_of(status), text, status);
}

} // namespace sluice::app
