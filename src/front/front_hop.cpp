// What another replica must serve, and what another replica has passed on (decision 3).
#include "front/front.hpp"

namespace sluice::front {

aio::task<> front::serve_forwarded(net::exchange& http, policy::caller who, std::string said_by) {
    aio::task<> rest;
    visit v;
    v.forwarded = true;
    v.who = std::move(who);
    v.said_by = std::move(said_by);
    co_await serve_visit(http, std::move(v), rest);
    if (rest.valid()) co_await std::move(rest);
}

aio::task<>
front::pass_on(net::exchange& http, const visit& v, std::string replica, std::string body) {
    if (peers_ == nullptr) {
        co_await turn_away(http, v, because(404, "no such session; begin with initialize"));
        co_return;
    }
    hop to;
    to.replica = std::move(replica);
    to.principal = v.who->id;
    to.body = std::move(body);
    to.forwarded = v.forwarded;
    to.headers = v.headers;
    co_await peers_->pass_on(http, std::move(to));
}

aio::task<base::result<bool>>
front::tell(const net::request_head& head, const visit& v, std::string replica, std::string body) {
    base::fault unheard(base::errc::unreachable, "another replica did not take it");
    if (peers_ == nullptr || v.forwarded) co_return unheard;
    hop to;
    to.replica = std::move(replica);
    to.principal = v.who->id;
    to.body = std::move(body);
    auto status = co_await peers_->tell(head, std::move(to));
    if (!status) co_return status.error();
    if (*status / 100 != 2) co_return unheard;
    co_return *status != nobody_waits;
}

// 202 when a call here has it, else 204.
aio::task<> front::take_for_call(net::exchange& http, const visit& v, std::string body) {
    auto said = wire::parse_message(std::move(body));
    auto id = http.head().headers.get("mcp-session-id").value_or("");
    auto host = through_.in().sessions.find_copy(id, v.who->id);
    bool taken = said && host && through_.take_for_call(*host, v.said_by, *said);
    int status = taken ? 202 : nobody_waits;
    co_await answer_empty(http, status, v.headers);
}

aio::task<told>
front::tell_others(const net::request_head& head, const visit& v, std::string body) {
    if (peers_ == nullptr || v.forwarded) co_return told();
    auto said = co_await peers_->tell_others(head, v.who->id, std::move(body));
    co_return said;
}

} // namespace sluice::front
