// Pages of upstreams' lists kept in the store (cache_ttl of a server; off by default), and one
// request for many who want the same page at once. What two callers' requests let the upstream tell
// apart is in the key, so neither is served what was said to the other; permissions and names are
// applied to every page served, kept or not. Failures are never kept. docs/decisions/016.
#pragma once

#include "aio/channel.hpp"
#include "aio/nursery.hpp"
#include "aio/task.hpp"
#include "base/result.hpp"
#include "wire/message.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace sluice::gateway {

struct house;
struct operation;

class page_cache {
public:
    explicit page_cache(house& in);
    ~page_cache();
    page_cache(const page_cache&) = delete;
    page_cache& operator=(const page_cache&) = delete;

    // One request for a page under way; whoever joined it is woken when it ends.
    struct flight {
        std::size_t server = 0;
        std::list<aio::signal_flag> waiting;
        std::optional<wire::message> got;
        bool done = false;
    };
    using shared_flight = std::shared_ptr<flight>;

    // What identifies a page of the list that `op` asks for; nothing when it cannot be kept.
    std::optional<std::string>
    key_of(const operation& op, std::size_t server, const std::string& cursor) const;

    shared_flight under_way(const std::string& key) const;
    shared_flight begin(const std::string& key, std::size_t server);
    void end(const std::string& key, const shared_flight& which);

    // Where a page stands: its key and the server's generation, which every list_changed replaces.
    // Nothing while the store is away.
    aio::task<std::optional<std::string>> place_of(std::string key, std::size_t server);
    aio::task<std::optional<wire::message>> find(std::string place);
    aio::task<> keep(std::string place, std::size_t server, std::string bytes);

    // The lists of the server of that number are others now, here at once and on every replica as
    // soon as the store says so.
    void forget(std::size_t number);
    aio::task<> shut_down();

private:
    aio::task<bool> renew(std::size_t server);
    aio::task<> renew_soon(std::size_t server);
    std::string generation_key(std::size_t server) const;

    house& in_;
    std::map<std::string, shared_flight> flights_;
    std::map<std::size_t, std::uint64_t> stale_; // servers whose new generation is not stored yet
    std::uint64_t changes_ = 0;
    aio::nursery chores_;
};

} // namespace sluice::gateway
