// One request over Streamable HTTP and its answer, whatever way it comes: as JSON, as a stream, as
// a stream that the upstream closes on purpose and that is resumed (2025-11-25), or after a new
// session. The usual way spawns nothing: one write, one head, one or more reads. Detours run as one
// errand at a time beside the puller, so that a pull may time out or be interrupted and go on
// later.
#pragma once

#include "aio/channel.hpp"
#include "net/http_client.hpp"
#include "upstream/http_session.hpp"
#include "upstream/room.hpp"
#include "wire/sse.hpp"

#include <list>
#include <memory>
#include <optional>
#include <string>

namespace sluice::upstream {

class http_call : public std::enable_shared_from_this<http_call> {
public:
    http_call(std::shared_ptr<http_session> session, outgoing request, bool opening);
    ~http_call();

    // Writes the request.
    aio::task<base::result<void>> send();
    // Instead of sending: fetches the rest of an answer that was begun as request `id`.
    void resume_at(std::string id, std::string last_event_id);
    // Tells whoever wants to know (outgoing::marked) where the answer stands.
    void tell_mark() const;
    aio::task<base::result<step>> next(aio::instant until);
    void interrupt();
    aio::task<> cancel(std::string reason_json);
    // The puller is gone. What is left of a finished stream is read to its end, so that its
    // connection can serve again.
    void abandon();

    // A message for this call that came down the session's standing stream. False: not for it, or
    // it takes nothing any more.
    bool takes_questions() const;
    bool inject(wire::message message, bool presumed = false);
    const wire::message& request() const { return *request_.message; }
    const std::string& id() const { return id_; }

    // Of an initialize that was answered.
    const std::string& session_id() const { return session_id_; }

private:
    using self = std::shared_ptr<http_call>;
    using moved = base::result<void>; // of the state; a fault but timeout ends the call

    enum class phase : std::uint8_t { head, json, refusal, events, errand };

    net::client_request make_post(bool fresh) const;
    void refuse_asked();
    aio::task<moved> advance(aio::instant until);
    aio::task<moved> wait_for_errand(aio::instant until);
    aio::task<moved> take_head(aio::instant until);
    moved judge_head();
    moved redirected(const net::response_head& head);
    aio::task<moved> take_body(aio::instant until, std::size_t limit);
    aio::task<moved> take_json(aio::instant until);
    aio::task<moved> take_refusal(aio::instant until);
    aio::task<moved> take_events(aio::instant until);
    moved deliver_text(std::string text, std::shared_ptr<const void> held);
    moved deliver(std::string text, std::shared_ptr<const void> held);
    moved take_event(wire::sse_event event);
    moved stream_ended(bool on_purpose);
    moved lost(base::fault why);
    void end(base::fault why);

    // Errands.
    moved start(aio::task<> job);
    static aio::task<> send_again(self me, bool fresh);
    static aio::task<> renew_and_send(self me, std::uint64_t forgotten);
    static aio::task<> resume(self me);
    static aio::task<> hear_out(self me);
    static aio::task<> drain(std::unique_ptr<net::client_response> rest);
    void errand_done(base::result<std::unique_ptr<net::client_response>> response);

    std::shared_ptr<http_session> session_;
    outgoing request_;
    bool opening_;   // this is initialize
    std::string id_; // our id, and our progress token
    phase phase_ = phase::head;
    std::unique_ptr<net::client_response> response_;
    std::string body_;
    room room_; // for the message being received
    std::optional<wire::sse_decoder> decoder_;
    std::list<step> ready_; // a deque takes two blocks for the usual one
    std::optional<base::fault> ended_;
    aio::signal_flag errand_over_;
    std::string session_id_;
    std::uint64_t generation_ = 0; // of the session the request was sent in

    std::string last_event_id_;
    std::uint32_t retry_ms_ = 1'000;
    std::uint32_t fruitless_ = 0; // resumed streams in a row that brought nothing
    bool resuming_ = false;

    bool sent_ = false;
    bool answered_ = false; // the response was handed over
    bool interrupted_ = false;
    bool abandoned_ = false;
    bool late_ = false; // called off; hear_out has the response
    bool repeated_ = false;
    bool renewed_ = false;
    bool redirected_ = false;
    std::string target_; // of a 307; empty = the session's
};

} // namespace sluice::upstream
