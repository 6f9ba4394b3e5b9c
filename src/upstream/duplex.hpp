// A session whose answers all come down one shared stream (stdio, HTTP+SSE): requests out with our
// ids, answers given to the calls they belong to. The transports add how bytes go out and come in.
// Each call's queue is bounded: the newest progress replaces an unsent older one, other notes are
// dropped and counted, a response is never dropped.
#pragma once

#include "aio/channel.hpp"
#include "upstream/core.hpp"
#include "upstream/link.hpp"
#include "upstream/listeners.hpp"

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace sluice::upstream {

class duplex : public link, public std::enable_shared_from_this<duplex> {
public:
    const peer_info& peer() const override { return peer_; }
    aio::task<base::result<std::unique_ptr<reply>>> call(outgoing request) override;
    aio::task<base::result<void>> notify(std::string bytes, aio::instant until) override;
    bool usable() const override { return !gone_ && !core_->stopped; }
    void add_listener(std::weak_ptr<listener> who) override { hearers_.add(std::move(who)); }

protected:
    explicit duplex(std::shared_ptr<core> shared)
        : core_(std::move(shared)), place_(core_, &server_status::links) {}

    // initialize … notifications/initialized, over the stream that is already there.
    aio::task<base::result<void>> open_session(open_request request);

    // Sends one message without waiting. `id` is the request's own, 0 for anything else.
    virtual base::result<void> put(std::string bytes, std::uint64_t id) = 0;

    // One message that came in, or a batch; `held` lives as long as its bytes.
    void take(std::string bytes, std::shared_ptr<const void> held);
    // A message of which this is the beginning is not taken: the call it answers ends with `why`,
    // or all do when that cannot be told.
    void refuse(std::string_view beginning, const base::fault& why);
    void fail(std::uint64_t id, base::fault why);
    // No more will come: every call that waits ends with `why`, the link is unusable.
    void lose(const base::fault& why);
    void retire() { gone_ = true; } // no new calls; those in flight still wait

    std::shared_ptr<core> core_;
    listeners hearers_;

private:
    // One call that waits for its response.
    struct waiting {
        explicit waiting(aio::executor ex) : came(ex) {}
        std::deque<wire::message> queue;
        std::size_t bytes = 0;
        std::optional<base::fault> ended;
        bool interrupted = false;
        bool has_token = false;
        bool own = false; // initialize: never cancelled
        std::shared_ptr<const wire::message> request;
        aio::signal_flag came;
    };
    class answer;
    friend class answer;

    base::result<std::unique_ptr<reply>> begin(const outgoing& request, bool own);
    void deliver(wire::message message);
    void tell(std::string answer);
    void set_aside(const wire::unaccepted& what, const base::fault& why);
    void deliver_note(wire::message message);
    void deliver_question(wire::message message);
    std::shared_ptr<waiting> asker_of(const wire::message& question) const;
    static bool make_room(waiting& in, const wire::message& note);

    peer_info peer_;
    counted place_;
    std::map<std::uint64_t, std::shared_ptr<waiting>> waiting_;
    std::uint64_t next_id_ = 1;
    bool gone_ = false;
};

} // namespace sluice::upstream
