// The questions that upstreams ask in the middle of one call: each goes to the host on the call's
// own stream under an id of ours, and the host's answer goes back verbatim under the upstream's id.
// Whatever keeps an answer from coming is an explicit error to the upstream, never an invented
// action. Spec: elicitation/create, sampling/createMessage, roots/list, R1–R4; decisions 1, 9, 10.
#pragma once

#include "aio/nursery.hpp"
#include "aio/task.hpp"
#include "gateway/links.hpp"
#include "gateway/operation.hpp"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace sluice::gateway {

// The host need not answer that any more: `ask_id` is JSON text.
std::string withdrawal_of(std::string_view ask_id, std::string_view reason);
// Under which name a stream's log says what its call number `call` has asked and has no answer to:
// [[our id, the upstream's], ...].
std::string open_questions_fact(std::uint32_t call);

class questions {
public:
    questions(house& in, shared_operation op, std::size_t server, shared_link link);

    // Returns at once, but in a flood. `presumed`: see upstream::step.
    aio::task<> take(wire::message request, bool presumed);
    // The upstream takes a question of its own back (notifications/cancelled).
    void withdrawn(const wire::message& note);
    std::size_t open() const { return open_; }
    // When the last one was settled: the call's silence counts from then.
    aio::instant last_settled() const { return last_settled_; }
    // The call is over: withdraws what is open, tells the upstream, joins. Await before destroying.
    aio::task<> close();

private:
    aio::task<> relay(std::shared_ptr<const wire::message> request, bool presumed);
    aio::task<> put_to_host(std::shared_ptr<const wire::message> request);
    std::string for_host(const wire::message& request, const session::ask& ask) const;
    aio::task<base::result<void>> belongs_here() const;
    base::result<void> may_be_asked(const wire::message& request) const;
    aio::task<base::result<wire::message>> wait_for_host(std::shared_ptr<session::ask> ask);
    void withdraw(const session::ask& ask, std::string_view reason);
    void withdraw_all();
    // For a replica that would take the call over: what is open now (orphans.cpp reads it).
    void note_open();
    aio::task<> refuse(std::shared_ptr<const wire::message> request, base::fault why);

    house& in_;
    shared_operation op_;
    std::size_t server_;
    shared_link link_;
    aio::nursery jobs_;
    std::vector<std::pair<wire::token, std::shared_ptr<session::ask>>>
        waiting_; // by the upstream's id
    session::call::watch on_cancel_;
    std::size_t open_ = 0;
    aio::instant last_settled_;
    bool closing_ = false;
};

} // namespace sluice::gateway
