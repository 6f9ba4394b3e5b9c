#include "gateway/calls_elsewhere.hpp"

#include "aio/within.hpp"
#include "gateway/replicas.hpp"

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
    auto key = session::records::record_key(host->who().key);
    auto record = co_await store.read(std::move(key));
    if (!record) co_return record.error();
    if (!*record) co_return base::fault(base::errc::not_found, "the session has ended");
    std::vector<std::string> found;
    for (const auto& [name, value] : **record) {
        if (!name.starts_with("call:")) continue;
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

aio::task<bool> hand_to_call_elsewhere(
    const grounds& in,
    std::shared_ptr<session::session> host,
    std::string server,
    std::shared_ptr<const wire::message> said,
    bool names_its_call
) {
    auto* by = in.replicas.reached_by();
    if (by == nullptr) co_return false;
    auto found = co_await calls_elsewhere(in, host, server);
    if (!found || (found->size() > 1 && !names_its_call)) co_return false;
    auto& where = *found;
    std::sort(where.begin(), where.end());
    where.erase(std::unique(where.begin(), where.end()), where.end());
    const auto& who = host->who();
    for (auto& replica : where) {
        forwarded_message what{
            std::move(replica), who.principal, who.id, who.scope, server, said->bytes
        };
        auto taken = co_await by->deliver(std::move(what));
        if (taken && *taken) co_return true;
    }
    co_return false;
}

} // namespace sluice::gateway
