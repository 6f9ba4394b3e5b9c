// One connection to one Redis: bytes out, replies in, after it said who it is. Whoever owns it
// decides what travels on it. Internal to state.
#pragma once

#include "aio/deadlines.hpp"
#include "base/result.hpp"
#include "net/client_link.hpp"
#include "state/redis_settings.hpp"
#include "wire/resp.hpp"

#include <memory>
#include <string>
#include <vector>

namespace sluice::state {

// What all connections of one store share.
struct redis_surroundings {
    aio::loop& loop;
    aio::deadlines& deadlines;
    redis_settings settings;
    std::shared_ptr<net::tls_context> tls; // null = plain
};

using redis_words = std::vector<std::string>;
std::string encode(const redis_words& words);

// What an error reply means to a caller: the store cannot serve now (unreachable), or we were
// wrong.
base::fault fault_of(const wire::resp_reply& error);
// Whether a connection that says so should be given up: the server is no (longer a) master.
bool is_no_master(const wire::resp_reply& reply);

class redis_link {
public:
    explicit redis_link(redis_surroundings& around);

    // Connects and authenticates as the settings say. errc::unreachable with the reason.
    aio::task<base::result<void>> open(redis_address to, aio::instant until);
    // The same as a client of a sentinel.
    aio::task<base::result<void>> open_sentinel(redis_address to, aio::instant until);

    // Sends commands and reads as many replies; only while nothing else reads.
    aio::task<base::result<std::vector<wire::resp_reply>>>
    ask(std::vector<redis_words> commands, aio::instant until);
    // All of it; one writer at a time.
    aio::task<base::result<void>> write(std::string bytes);
    // The next reply; errc::closed, errc::timeout at the deadline, errc::cancelled, errc::protocol.
    aio::task<base::result<wire::resp_reply>> read();

    void set_deadline(aio::instant at) { link_.set_deadline(at); }
    void cancel() { link_.cancel(); }

private:
    aio::task<base::result<void>> connect(redis_address to, aio::instant until);
    aio::task<base::result<void>> greet(std::vector<redis_words> words, aio::instant until);

    redis_surroundings& around_;
    net::http_pool::counters counters_;
    net::client_link link_;
    std::weak_ptr<net::lookup> lookup_;
    wire::resp_reader reader_;
};

} // namespace sluice::state
