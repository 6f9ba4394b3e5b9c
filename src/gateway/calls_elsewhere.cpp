#include "gateway/calls_elsewhere.hpp"

#include "aio/within.hpp"
#include "gateway/replicas.hpp"
#include "upstream/related_task.hpp"

#include <algorithm>

namespace sluice::gateway {

namespace {

// For the record to be written once a call has become a stream.
constexpr auto writing = std::chrono::milliseconds(100);

} // namespace

aio::task<base::result<std::vector<std::string>>>
calls_elsewhere(const grounds& in, std::shared_ptr<session::session> host, std::string server) {
    co_await aio::pause(in.sessions.bounds().stream_after + writing);
    auto& store = host->kept()->store();
    auto record = co_await host->read_record();
    if (!record) co_return record.error();
    std::vector<std::string> found;
    for (const auto& [name, value] : *record) {
        if (!session::session::is_call_field(name)) continue;
        auto [replica, handle] = session::session::where_it_runs(value);
        if (in.replicas.is_me(replica)) continue;
        auto log = host->place_of_log(handle).key;
        auto at = co_await store.read_field(std::move(log), "server");
        if (!at) co_return at.error();
        bool another = *at && **at != server;
        if (!another) found.push_back(std::move(replica));
    }
    co_return found;
}

aio::task<base::result<bool>> hand_to_call_elsewhere(
    const grounds& in,
    std::shared_ptr<session::session> host,
    calls_at at,
    std::shared_ptr<const wire::message> said
) {
    auto* by = in.replicas.reached_by();
    if (by == nullptr) co_return false;
    auto found = co_await calls_elsewhere(in, host, at.server);
    if (!found) co_return false;
    auto& where = *found;
    bool one_call = said->is_request() && !upstream::related_task(*said);
    if (one_call && where.size() != 1) co_return false;
    std::sort(where.begin(), where.end());
    where.erase(std::unique(where.begin(), where.end()), where.end());
    const auto& who = host->who();
    for (auto& replica : where) {
        forwarded_message what{
            std::move(replica), who.principal, who.id, who.scope, at.upstream, said->bytes
        };
        auto taken = co_await by->deliver(std::move(what));
        if (!said->is_request()) continue; // whose question it was, only its replica knows
        if (!taken || *taken) co_return taken;
    }
    co_return !said->is_request();
}

} // namespace sluice::gateway
