// One page of an upstream's list: from the cache where the server has one, together with others who
// ask for it now, or from the upstream. Used wherever a list is asked for.
#pragma once

#include "aio/task.hpp"
#include "base/result.hpp"
#include "gateway/operation.hpp"
#include "gateway/page_cache.hpp"
#include "gateway/relay.hpp"

#include <string>
#include <utility>

namespace sluice::gateway {

// Ends a flight whatever becomes of who leads it.
class leading {
public:
    leading(page_cache& cache, std::string key, std::size_t server)
        : cache_(cache), key_(std::move(key)), flight_(cache.begin(key_, server)) {}
    ~leading() { cache_.end(key_, flight_); }
    leading(const leading&) = delete;
    leading& operator=(const leading&) = delete;

    void got(const wire::message& answer) { flight_->got = answer; }

private:
    page_cache& cache_;
    std::string key_;
    page_cache::shared_flight flight_;
};

// Until it ends, or the call is cancelled.
aio::task<> wait_for(page_cache::shared_flight flight, shared_operation op, aio::instant until);

// `cursor` is the upstream's, JSON text, empty for its first page; it stands in the request
// already. Answer and faults as those of ask().
aio::task<base::result<wire::message>>
ask_page(house& in, shared_operation op, request_to what, std::string cursor);

} // namespace sluice::gateway
