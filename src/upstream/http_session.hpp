// One Streamable HTTP session with an upstream: the session id, the headers of every request, and a
// new session when the upstream has forgotten ours (404). Spec: Streamable HTTP.
#pragma once

#include "aio/latch.hpp"
#include "net/http_client.hpp"
#include "upstream/core.hpp"
#include "upstream/link.hpp"
#include "upstream/listeners.hpp"
#include "upstream/request_headers.hpp"

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::upstream {

class http_call;
class http_listener;

class http_session final : public link, public std::enable_shared_from_this<http_session> {
public:
    http_session(
        std::shared_ptr<core> shared, std::shared_ptr<net::http_pool> pool, open_request request
    );

    ~http_session() override;

    aio::task<base::result<void>> open(aio::instant until);
    // Takes up the session that `handle` tells of; nothing is sent.
    base::result<void> adopt(std::string_view handle);

    const peer_info& peer() const override { return peer_; }
    aio::task<base::result<std::unique_ptr<reply>>> call(outgoing request) override;
    aio::task<base::result<std::unique_ptr<reply>>>
    resume(std::string mark, outgoing request) override;
    std::string handle() const override;
    aio::task<base::result<void>> notify(std::string bytes, aio::instant until) override;
    aio::task<> close() override;
    bool usable() const override { return !gone_ && !core_->stopped; }
    void add_listener(std::weak_ptr<listener> who) override { hearers_.add(std::move(who)); }
    aio::task<> call_off(std::string mark, std::string reason_json, aio::instant until) override;
    bool take_for_call(const wire::message& said) override;
    void open_standing() override;
    void take_over_standing() override;

    // For http_call and http_listener.
    void enter(http_call& call) { calls_.push_back(&call); }
    void leave(http_call& call) { std::erase(calls_, &call); }
    // What the standing stream brought: one message, or a batch.
    void take_standing(std::string text);
    // It stands again, without what was said while it did not.
    void standing_had_a_gap() {
        hearers_.each([](listener& who) { who.missed(); });
    }
    net::client_request make_get(const std::string& last_event_id) const;
    core& shared() { return *core_; }
    net::http_pool& pool() { return *pool_; }
    const std::string& target() const { return target_; }
    // The upstream moved, within its origin, for good.
    void move_to(std::string target) { target_ = std::move(target); }
    std::string mint_id() { return std::to_string(next_id_++); }
    // What goes on every request; an opening one names no session yet.
    net::fields headers(const header_list& forwarded, bool opening = false) const;
    bool has_session() const { return !session_id_.empty(); }
    // Grows with every new session id: what a 404 was about.
    std::uint64_t generation() const { return generation_; }
    // A new session in place of the one numbered `forgotten`; one at a time.
    aio::task<base::result<void>> renew(std::uint64_t forgotten, aio::instant until);
    // POSTs a message that has no answer.
    aio::task<base::result<void>> post(std::string bytes, aio::instant until);
    // Answers a request of the upstream's, on the side.
    void answer(std::string bytes);
    // More of its requests wait for their answers than should: who reads what it says naps before
    // reading on, so that each is answered and they stay few.
    bool is_behind() const { return answers_.size() > most_behind; }
    // A notification or request that is not well formed concerns nobody but its sender.
    void set_aside(const wire::unaccepted& what, const base::fault& why);

private:
    using self = std::shared_ptr<http_session>;
    aio::task<base::result<void>> initialize(aio::instant until);
    void deliver_standing(wire::message message);
    void deliver_note(wire::message message);
    http_call* only_call() const;
    bool has_calls() const;
    bool others_take(const wire::message& message);
    http_call* asker_of(const wire::message& question) const;
    static aio::task<> post_answers(self me);
    http_listener& standing();

    std::shared_ptr<core> core_;
    std::shared_ptr<net::http_pool> pool_;
    open_request request_;
    counted place_;
    std::string target_;
    net::fields own_; // content type, credential, static headers
    peer_info peer_;
    std::string session_id_;
    std::string revision_; // sent on every request once it is agreed
    std::uint64_t next_id_ = 1;
    std::uint64_t generation_ = 0;
    bool renewing_ = false;
    aio::latch renewed_;
    bool gone_ = false;
    listeners hearers_;
    std::vector<http_call*> calls_; // under way
    std::shared_ptr<http_listener> standing_;
    static constexpr std::size_t most_behind = 64;
    std::deque<std::string> answers_; // to the upstream's requests, not posted yet
    std::size_t posters_ = 0;
};

} // namespace sluice::upstream
