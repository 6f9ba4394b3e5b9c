// The engines that the contract of state::store is tried on. A body runs once on each.
#pragma once

#include "../aio/run.hpp"
#include "state/redis.hpp"
#include "state/store.hpp"
#include "sys/clock.hpp"

namespace sluice::state::test {

using aio::task;
using base::errc;
using namespace std::chrono_literals;

class engine {
public:
    virtual ~engine() = default;
    virtual store& get() = 0;
    // Lets a little of the time pass that lives are counted in.
    virtual task<> step() = 0;

    virtual aio::loop& on() = 0;
};

// Makes one, starts it, and ends it in order.
class redis_bench {
public:
    explicit redis_bench(redis_settings settings);
    ~redis_bench();

    aio::loop loop;
    aio::deadlines deadlines{loop.get_executor()};
    sys::meters meters{10};
    std::unique_ptr<store> made;
};
// Unlike any other of this process.
std::string fresh_prefix();

using body = task<> (*)(engine&);
void on_every_engine(body run);

// Passes time until the key is gone.
task<> until_gone(engine& on, std::string key);

inline fields pair(std::string name, std::string value) {
    return {{std::move(name), std::move(value)}};
}

// The value of a result that must be one.
template <class T>
T good(base::result<T> got) {
    if (!got) FAIL(base::name_of(got.error().code) << ": " << got.error().message);
    return std::move(*got);
}
inline void good(base::result<void> got) {
    if (!got) FAIL(base::name_of(got.error().code) << ": " << got.error().message);
}
template <class T>
errc fault_of(base::result<T> got) {
    REQUIRE_FALSE(got.ok());
    return got.error().code;
}

} // namespace sluice::state::test
