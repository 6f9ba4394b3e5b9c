#include "gateway/ask_page.hpp"

#include "catalog/listing.hpp"

#include <iterator>

namespace sluice::gateway {

aio::task<> wait_for(page_cache::shared_flight flight, shared_operation op, aio::instant until) {
    flight->waiting.emplace_back(op->host->get_executor());
    auto place = std::prev(flight->waiting.end());
    session::call::watch on_cancel(*op->call, [place] { place->wake(); });
    auto began = aio::clock::now();
    if (!flight->done) [[maybe_unused]]
        bool woken = co_await place->wait(until);
    op->waited += aio::clock::now() - began;
    flight->waiting.erase(place);
}

namespace {

bool is_page(const operation& op, const wire::message& answer) {
    if (answer.kind != wire::message_kind::result) return false;
    auto all = [](const std::string&) { return catalog::verdict{}; };
    return catalog::read_page(answer.view(answer.result), op.method->list_key, all).ok();
}

aio::task<base::result<wire::message>>
lead(house& in, shared_operation op, request_to what, std::string cursor, std::string key) {
    auto& cache = *in.cache;
    auto server = what.server;
    const auto& name = in.names.server(server).name;
    leading flight(cache, key, server);
    auto place = co_await cache.place_of(std::move(key), server);
    if (place) {
        auto kept = co_await cache.find(*place);
        if (kept) {
            in.meters.page_looked_up(name, "hit");
            flight.got(*kept);
            co_return std::move(*kept);
        }
    }
    in.meters.page_looked_up(name, "miss");
    auto answer = co_await ask(in, op, std::move(what));
    if (!answer) co_return answer;
    if (is_page(*op, *answer)) {
        if (place) co_await cache.keep(std::move(*place), server, answer->bytes);
        flight.got(*answer);
    } else if (!cursor.empty()) {
        // It does not go on from there: the page with that cursor must not be served again.
        in.forget_lists(server);
    }
    co_return answer;
}

} // namespace

aio::task<base::result<wire::message>>
ask_page(house& in, shared_operation op, request_to what, std::string cursor) {
    std::optional<std::string> key;
    if (in.cache) key = in.cache->key_of(*op, what.server, cursor);
    if (!key) {
        auto plain = co_await ask(in, op, std::move(what));
        co_return plain;
    }
    auto flight = in.cache->under_way(*key);
    if (!flight) {
        auto led = co_await lead(in, op, std::move(what), std::move(cursor), std::move(*key));
        co_return led;
    }
    co_await wait_for(flight, op, aio::clock::now() + what.longest);
    if (op->call->is_cancelled())
        co_return base::fault(base::errc::cancelled, "cancelled by the host");
    if (flight->got) {
        in.meters.page_looked_up(in.names.server(what.server).name, "joined");
        co_return *flight->got;
    }
    if (!flight->done) co_return base::fault(base::errc::timeout, "no page of its list in time");
    // The other's failure may be of its own session: each tries for itself, nobody waits in a row.
    auto own = co_await ask(in, op, std::move(what));
    co_return own;
}

} // namespace sluice::gateway
