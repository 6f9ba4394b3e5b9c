#include "front/peers.hpp"

#include "base/text.hpp"
#include "front/peer_seal.hpp"
#include "mcp/errors.hpp"
#include "sys/digest.hpp"
#include "wire/message.hpp"

#include <algorithm>

namespace sluice::front {

namespace {

constexpr std::size_t whole_up_to = 1024 * 1024; // longer answers are piped
constexpr std::size_t most_pools = 64;

double seconds_since(aio::instant start) {
    return std::chrono::duration<double>(aio::clock::now() - start).count();
}

std::string id_in(const std::string& body) {
    std::string id;
    if (body.empty()) return id;
    auto parsed = wire::parse_message(body, {}, &id);
    if (parsed && parsed->is_request()) id = std::string(parsed->view(parsed->id));
    return id;
}

std::string reason_for(const base::fault& f, bool sent) {
    if (f.code == base::errc::not_found)
        return "the replica that holds this is gone; try again in some seconds";
    if (!sent) return "the replica that holds this cannot be reached; try again";
    return "the replica that holds this did not answer in time; whether it took the message is "
           "unknown";
}

std::string_view word_for(const base::fault& f) {
    if (f.code == base::errc::not_found) return "gone";
    return base::name_of(f.code);
}

} // namespace

peers::peers(
    aio::loop& loop,
    aio::deadlines& deadlines,
    gateway::replicas& everybody,
    const sys::sealer& seals,
    sys::meters& meters,
    peers_settings from
)
    : loop_(loop), deadlines_(deadlines), everybody_(everybody), seals_(seals), meters_(meters),
      from_(std::move(from)) {}

std::shared_ptr<net::http_pool> peers::pool_of(const std::string& address) {
    auto it = pools_.find(address);
    if (it != pools_.end()) return it->second;
    auto origin = net::parse_url("http://" + address);
    if (!origin) return nullptr;
    // Addresses come and go with replicas; one that is gone costs a map entry until then.
    if (pools_.size() >= most_pools) pools_.clear();
    net::client_settings how;
    how.connect_timeout = from_.answer;
    auto made = std::make_shared<net::http_pool>(loop_, deadlines_, std::move(*origin), how);
    pools_.emplace(address, made);
    return made;
}

// Up to the answer's head; counted.
aio::task<base::result<peers::shared_response>>
peers::ask(gateway::replica whom, net::request_head head, hop what, bool* sent) {
    auto start = aio::clock::now();
    auto answer = co_await exchange_with(std::move(whom), std::move(head), std::move(what), sent);
    meters_.peer_asked(answer ? "ok" : word_for(answer.error()), seconds_since(start));
    co_return answer;
}

aio::task<base::result<peers::shared_response>>
peers::exchange_with(gateway::replica whom, net::request_head head, hop what, bool* sent) {
    auto until = aio::clock::now() + from_.answer;
    if (!seals_.can_seal()) co_return base::fault(base::errc::config, "no salt to sign with");
    if (whom.address.empty()) {
        auto found = co_await everybody_.find(whom.id);
        if (!found) co_return found.error();
        whom.address = std::move(*found);
    }
    auto pool = pool_of(whom.address);
    if (!pool) co_return base::fault(base::errc::unreachable, "a peer's address is not usable");
    for (const auto& name : from_.dropped_headers)
        head.headers.erase(name);
    peer_claim claim;
    claim.from = everybody_.self();
    claim.to = whom.id;
    claim.principal = std::move(what.principal);
    claim.digest = base::hex(sys::sha256(what.body));
    claim.said_by = std::move(what.said_by);
    net::client_request request;
    request.headers =
        sign_request(seals_, head.method, head.target, head.headers, std::move(claim));
    request.method = std::move(head.method);
    request.target = std::move(head.target);
    request.body = std::move(what.body);
    auto got = co_await pool->send(std::move(request), until, sent);
    if (!got) co_return got.error();
    shared_response answer = std::move(*got);
    if (!answer->head().headers.get(served_by_header))
        co_return base::fault(base::errc::forbidden, "the peer does not believe us");
    co_return answer;
}

aio::task<> peers::pass_on(net::exchange& http, hop to) {
    auto id = id_in(to.body);
    auto headers = std::move(to.headers);
    bool sent = false;
    base::result<shared_response> answer =
        base::fault(base::errc::not_found, "it was passed on once already");
    if (!to.forwarded) {
        gateway::replica whom{to.replica, {}};
        auto head = http.head();
        answer = co_await ask(std::move(whom), std::move(head), std::move(to), &sent);
    }
    if (answer) {
        co_await pipe(http, std::move(*answer));
        co_return;
    }
    auto why = reason_for(answer.error(), sent);
    headers.emplace_back("Retry-After", "1");
    co_await refuse(
        http, 503, mcp::code_internal, std::move(why), std::move(id), std::move(headers)
    );
}

aio::task<> peers::pipe(net::exchange& http, shared_response from) {
    net::response_head head;
    head.status = from->head().status;
    for (const auto& [name, value] : from->head().headers.all()) {
        bool ours = base::iequals(name, served_by_header) || base::iequals(name, "keep-alive");
        if (!ours) head.headers.add(name, value);
    }
    auto length = base::parse_unsigned(from->head().headers.get("content-length").value_or(""));
    if (!from->done() && (!length || *length > whole_up_to)) {
        co_await pipe_stream(http, std::move(from), std::move(head));
        co_return;
    }
    auto body = co_await read_all(*from, whole_up_to, aio::clock::now() + from_.silence);
    if (!body) {
        extra_headers headers{{"Retry-After", "1"}};
        auto why = reason_for(body.error(), true);
        co_await refuse(
            http, 503, mcp::code_internal, std::move(why), std::string(), std::move(headers)
        );
        co_return;
    }
    net::response whole{head.status, std::move(head.headers), std::move(*body)};
    [[maybe_unused]] auto written = co_await http.respond(std::move(whole));
}

// An end that was cut short is passed on as one: the stream is not finished, the connection closes.
aio::task<> peers::pipe_stream(net::exchange& http, shared_response from, net::response_head head) {
    auto opened = co_await http.start_stream(std::move(head));
    if (!opened) co_return;
    http.on_peer_gone([weak = std::weak_ptr(from)] {
        if (auto alive = weak.lock()) alive->cancel();
    });
    for (;;) {
        auto some = co_await from->read_some(aio::clock::now() + from_.silence);
        if (!some) co_return;
        if (some->empty()) break;
        auto written = co_await http.write(std::move(*some));
        if (!written) co_return;
    }
    [[maybe_unused]] auto finished = co_await http.finish();
}

aio::task<base::result<int>> peers::tell(net::request_head head, hop what, bool* sent) {
    gateway::replica whom{what.replica, {}};
    auto until = aio::clock::now() + from_.answer;
    auto answer = co_await ask(std::move(whom), std::move(head), std::move(what), sent);
    if (!answer) co_return answer.error();
    auto& got = **answer;
    int status = got.head().status;
    // Read, so that the connection is kept.
    if (!got.done()) [[maybe_unused]]
        auto rest = co_await read_all(got, whole_up_to, until);
    co_return status;
}

aio::task<base::result<bool>> peers::deliver(gateway::forwarded_message what) {
    net::request_head head;
    head.method = "POST";
    head.target = from_.mount_path + what.scope;
    head.headers.add("content-type", "application/json");
    head.headers.add("accept", "application/json, text/event-stream");
    head.headers.add("mcp-session-id", std::move(what.session));
    hop to;
    to.replica = std::move(what.replica);
    to.principal = std::move(what.principal);
    to.body = std::move(what.bytes);
    to.said_by = std::move(what.upstream);
    bool sent = false;
    auto status = co_await tell(std::move(head), std::move(to), &sent);
    if (!status && !sent) co_return false;
    if (!status) co_return status.error();
    co_return *status / 100 == 2 && *status != nobody_waits;
}

aio::task<> peers::tell_one(
    gateway::replica whom, net::request_head head, hop what, std::shared_ptr<told> count
) {
    co_await aio::keep_running_when_cancelled();
    bool sent = false;
    auto until = aio::clock::now() + from_.answer;
    auto answer = co_await ask(std::move(whom), std::move(head), std::move(what), &sent);
    if (!answer) co_return;
    auto& got = **answer;
    int status = got.head().status;
    if (status / 100 == 2) {
        ++count->acknowledged;
        count->taken = count->taken || status != nobody_waits;
    }
    if (!got.done()) [[maybe_unused]]
        auto rest = co_await read_all(got, whole_up_to, until);
}

aio::task<told>
peers::tell_others(net::request_head head, std::string principal, std::string body) {
    auto count = std::make_shared<told>();
    auto all = co_await everybody_.others();
    if (!all) co_return *count;
    aio::nursery messengers(loop_.get_executor(), "front");
    for (auto& one : *all) {
        ++count->asked;
        hop what;
        what.principal = principal;
        what.body = body;
        auto job = tell_one(std::move(one), head, std::move(what), count);
        messengers.spawn(std::move(job));
    }
    co_await messengers.join();
    co_return *count;
}

} // namespace sluice::front
