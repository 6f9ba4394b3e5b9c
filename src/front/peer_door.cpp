#include "front/peer_door.hpp"

#include "base/secret.hpp"
#include "base/text.hpp"
#include "front/peers.hpp"
#include "sys/digest.hpp"

namespace sluice::front {

namespace {

// The host's request as the front would have seen it; the body has been read and verified.
class forwarded_exchange final : public net::exchange {
public:
    forwarded_exchange(
        net::exchange& inner, net::fields headers, std::string body, std::string_view served_by
    )
        : inner_(inner), head_(inner.head()), body_(std::move(body)), served_by_(served_by) {
        // What front asks before it reads a body.
        if (auto length = head_.headers.get("content-length"))
            headers.add("content-length", std::string(*length));
        head_.headers = std::move(headers);
    }

    const net::request_head& head() const override { return head_; }
    std::string_view peer_address() const override { return inner_.peer_address(); }
    aio::instant arrived() const override { return inner_.arrived(); }
    void forget_head() override {
        head_ = {};
        inner_.forget_head();
    }
    aio::task<base::result<std::string>> read_body() override { co_return std::move(body_); }

    aio::task<base::result<void>> respond(net::response answer) override {
        answer.headers.add(std::string(served_by_header), served_by_);
        return inner_.respond(std::move(answer));
    }
    aio::task<base::result<void>> start_stream(net::response_head head) override {
        head.headers.add(std::string(served_by_header), served_by_);
        return inner_.start_stream(std::move(head));
    }
    aio::task<base::result<void>> write(std::string bytes) override {
        return inner_.write(std::move(bytes));
    }
    aio::task<base::result<void>> finish() override { return inner_.finish(); }
    void on_peer_gone(std::function<void()> gone) override { inner_.on_peer_gone(std::move(gone)); }
    bool has_left() override { return inner_.has_left(); }
    bool responded() const override { return inner_.responded(); }

private:
    net::exchange& inner_;
    net::request_head head_;
    std::string body_;
    std::string served_by_;
};

aio::task<> answer_briefly(net::exchange& http, int status, std::string text) {
    net::response out;
    out.status = status;
    out.headers.add("Content-Type", "text/plain; charset=utf-8");
    out.body = std::move(text);
    [[maybe_unused]] auto written = co_await http.respond(std::move(out));
}

} // namespace

peer_door::peer_door(
    const gateway::replicas& everybody,
    const sys::sealer& seals,
    sys::meters& meters,
    behind_door inside
)
    : everybody_(everybody), seals_(seals), meters_(meters), inside_(std::move(inside)) {}

aio::task<> peer_door::refuse_peer(net::exchange& http, std::string_view reason) {
    meters_.peer_refused(reason);
    co_await answer_briefly(http, 403, "forbidden\n");
}

aio::task<> peer_door::serve(net::exchange& http) {
    const auto& head = http.head();
    if (head.path() == "/healthz" && (head.method == "GET" || head.method == "HEAD")) {
        co_await answer_briefly(http, 200, "ok\n");
        co_return;
    }
    auto known = verify_request(seals_, head, nonces_);
    // An id that we had before: its sender looked it up a moment ago.
    if (known.doubt == peer_doubt::none && !everybody_.is_me(known.claim.to))
        known.doubt = peer_doubt::elsewhere;
    if (known.doubt != peer_doubt::none) {
        co_await refuse_peer(http, name_of(known.doubt));
        co_return;
    }
    co_await let_in(http, std::move(known));
}

aio::task<> peer_door::let_in(net::exchange& http, peer_verdict known) {
    auto who = inside_.who_is(known.claim.principal);
    if (!who) {
        co_await refuse_peer(http, "principal");
        co_return;
    }
    // Until the front takes its own.
    auto room = inside_.make_room(http.head());
    if (!room) {
        co_await answer_briefly(http, 503, "no room for the body\n");
        co_return;
    }
    auto body = co_await http.read_body();
    if (!body) {
        const auto& why = body.error();
        int status = why.code == base::errc::too_large ? 413 : 400;
        meters_.peer_refused("body");
        co_await answer_briefly(http, status, why.message + "\n");
        co_return;
    }
    if (!base::equal_constant_time(base::hex(sys::sha256(*body)), known.claim.digest)) {
        co_await refuse_peer(http, "digest");
        co_return;
    }
    // It gave up while this replica could not look, and has told its host to try again.
    if (http.has_left()) {
        meters_.peer_refused("left");
        co_return;
    }
    room.reset();
    forwarded_exchange inside(http, std::move(known.headers), std::move(*body), everybody_.self());
    co_await inside_.serve(inside, std::move(who), std::move(known.claim.said_by));
}

} // namespace sluice::front
