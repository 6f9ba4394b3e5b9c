// An upstream in memory: every request that reaches it is noted and given to the test's script,
// which says what it answers, now or later. Ids and tokens are minted per hop, as real links do.
#pragma once

#include "aio/channel.hpp"
#include "upstream/listeners.hpp"
#include "upstream/server.hpp"

#include <boost/asio/post.hpp>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace sluice::gateway::test {

// One request under way at the upstream, and what the script says to it.
class conversation {
public:
    conversation(aio::executor ex, wire::message request)
        : request(std::move(request)), come_(ex) {}

    void say(std::string json) {
        auto parsed = wire::parse_message(std::move(json));
        if (!parsed)
            throw std::logic_error("the script says what is no message: " + parsed.error().message);
        steps_.push_back({upstream::step::kind::message, std::move(*parsed), 0});
        come_.wake();
    }
    void note(std::string_view method, std::string_view params) {
        say(wire::make_notification(method, params));
    }
    void progress(std::string_view fields) {
        note(
            "notifications/progress",
            "{\"progressToken\":" + token() + "," + std::string(fields) + "}"
        );
    }
    void result(std::string_view json) { say(wire::make_result(id(), json)); }
    void error(int code, std::string_view text) { say(wire::make_error(id(), code, text)); }
    void fail(base::fault why) {
        broken_ = std::move(why);
        come_.wake();
    }

    std::string id() const { return std::string(request.view(request.id)); }
    std::string token() const { return std::string(request.view(request.progress_token)); }
    std::string params() const {
        return request.params.present() ? std::string(request.view(request.params)) : "";
    }

    wire::message request;
    std::vector<std::pair<std::string, std::string>> headers; // the host's, that went up
    bool interrupted = false;
    std::vector<std::string> cancels; // reasons

private:
    friend class fake_reply;
    std::deque<upstream::step> steps_;
    std::optional<base::fault> broken_;
    aio::signal_flag come_;
};

using talk = std::shared_ptr<conversation>;
using script = std::function<void(conversation&)>;

class fake_reply : public upstream::reply {
public:
    explicit fake_reply(talk with) : with_(std::move(with)) {}

    aio::task<base::result<upstream::step>> next(aio::instant until) override {
        for (;;) {
            if (with_->interrupted) co_return base::fault(base::errc::cancelled, "interrupted");
            if (!with_->steps_.empty()) {
                auto step = std::move(with_->steps_.front());
                with_->steps_.pop_front();
                co_return step;
            }
            if (with_->broken_) co_return *with_->broken_;
            bool woken = co_await with_->come_.wait(until);
            if (!woken) co_return base::fault(base::errc::timeout, "nothing came");
        }
    }
    void interrupt() override {
        with_->interrupted = true;
        with_->come_.wake();
    }
    aio::task<> cancel(std::string reason_json) override {
        with_->cancels.push_back(std::move(reason_json));
        co_return;
    }

private:
    talk with_;
};

// What a server has seen, kept by the test.
struct diary {
    std::vector<talk> calls;
    std::vector<std::string> notified;
    int opened = 0;
    int closed = 0;

    std::vector<std::string> methods() const {
        std::vector<std::string> out;
        for (const auto& c : calls)
            out.push_back(c->request.method_text());
        return out;
    }
};

class fake_link : public upstream::link {
public:
    fake_link(
        aio::executor ex, std::shared_ptr<diary> notes, upstream::peer_info info, script& plays
    )
        : ex_(ex), notes_(std::move(notes)), info_(std::move(info)), plays_(plays) {}

    const upstream::peer_info& peer() const override { return info_; }

    aio::task<base::result<std::unique_ptr<upstream::reply>>> call(upstream::outgoing request
    ) override {
        auto number = std::to_string(1000 + notes_->calls.size());
        auto token = "\"up-" + number + "\"";
        std::vector<wire::edit> edits;
        for (const auto& e : request.edits)
            edits.push_back({e.where, e.with});
        edits.push_back({request.message->id, number});
        edits.push_back({request.message->progress_token, token});
        auto sent = wire::parse_message(wire::rewrite(*request.message, edits));
        auto with = std::make_shared<conversation>(ex_, std::move(*sent));
        with->headers = std::move(request.headers);
        notes_->calls.push_back(with);
        plays_(*with);
        std::unique_ptr<upstream::reply> reply = std::make_unique<fake_reply>(with);
        co_return reply;
    }
    // Nothing is kept of what another would have read: the script says the rest.
    aio::task<base::result<std::unique_ptr<upstream::reply>>>
    resume(std::string, upstream::outgoing request) override {
        auto reply = co_await call(std::move(request));
        co_return reply;
    }
    void add_listener(std::weak_ptr<upstream::listener> who) override {
        hearers.add(std::move(who));
    }
    aio::task<base::result<void>> notify(std::string bytes, aio::instant) override {
        notes_->notified.push_back(std::move(bytes));
        co_return base::result<void>();
    }
    aio::task<> close() override {
        usable_ = false;
        ++notes_->closed;
        co_return;
    }
    bool usable() const override { return usable_; }

    upstream::listeners hearers;

private:
    aio::executor ex_;
    std::shared_ptr<diary> notes_;
    upstream::peer_info info_;
    script& plays_;
    bool usable_ = true;
};

class fake_server : public upstream::server {
public:
    fake_server(
        aio::executor ex,
        const upstream::server_settings& settings,
        std::string capabilities,
        script plays
    )
        : ex_(ex), settings_(settings), plays_(std::move(plays)) {
        info_ = {
            "2025-11-25", std::move(capabilities), "{\"name\":\"fake\",\"version\":\"1\"}", ""
        };
    }

    const upstream::server_settings& settings() const override { return settings_; }
    aio::task<base::result<std::shared_ptr<upstream::link>>> open(upstream::open_request) override {
        co_await aio::asio::post(ex_, aio::awaiting()); // no session stands at once
        if (down) co_return *down;
        ++notes->opened;
        std::shared_ptr<upstream::link> made =
            std::make_shared<fake_link>(ex_, notes, info_, plays_);
        co_return made;
    }
    bool is_bound_here() const override { return false; }
    upstream::server_status status() const override { return {}; }
    void report(std::string_view, const base::fault&) override {}
    aio::task<> shut_down() override { co_return; }

    std::shared_ptr<diary> notes = std::make_shared<diary>();
    std::optional<base::fault> down; // what open() answers

private:
    aio::executor ex_;
    const upstream::server_settings& settings_;
    upstream::peer_info info_;
    script plays_;
};

} // namespace sluice::gateway::test
