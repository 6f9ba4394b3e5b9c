#include "engines.hpp"

#include "aio/within.hpp"
#include "redis_server.hpp"
#include "sys/log.hpp"

namespace sluice::state::test {

namespace {

class memory_engine final : public engine {
public:
    store& get() override { return *store_; }
    aio::loop& on() override { return loop_; }
    task<> step() override {
        clock_.advance(5);
        co_return;
    }

private:
    sys::hand_wound_clock clock_{1'700'000'000'000};
    aio::loop loop_;
    std::unique_ptr<store> store_ = make_memory_store(loop_);
};

class redis_engine final : public engine {
public:
    store& get() override { return *bench_.made; }
    aio::loop& on() override { return bench_.loop; }
    task<> step() override { co_await aio::pause(5ms); }

private:
    static redis_settings settings() {
        static redis_server server;
        redis_settings s;
        s.at = server.at();
        s.key_prefix = fresh_prefix();
        return s;
    }
    redis_bench bench_{settings()};
};

} // namespace

void on_every_engine(body each) {
    SUBCASE("memory") {
        memory_engine on;
        aio::test::run(on.on(), each(on));
    }
    SUBCASE("redis") {
        redis_engine on;
        aio::test::run(on.on(), each(on));
    }
}

redis_bench::redis_bench(redis_settings settings) {
    sys::log_settings quiet; // a store that goes away on purpose is no news here
    quiet.level = sys::log_level::off;
    sys::configure_log(quiet);
    auto got = make_redis_store(loop, deadlines, std::move(settings), &meters);
    if (!got) throw std::runtime_error(got.error().message);
    made = std::move(*got);
    made->start();
}

redis_bench::~redis_bench() {
    bool ended = false;
    auto end = [](store& of, bool& ended) -> task<> {
        co_await aio::keep_running_when_cancelled();
        co_await of.shut_down();
        ended = true;
    };
    aio::nursery closing(loop.get_executor(), "test");
    closing.spawn(end(*made, ended));
    auto until = aio::test::late();
    while ((!ended || closing.size() > 0) && aio::clock::now() < until)
        loop.run_one_for(100ms);
}

std::string fresh_prefix() {
    static int number = 0;
    return "t" + std::to_string(++number) + ":";
}

task<> until_gone(engine& on, std::string key) {
    auto until = aio::test::late();
    while (aio::clock::now() < until) {
        auto left = co_await on.get().time_left(key);
        if (!good(std::move(left))) co_return;
        co_await on.step();
    }
    FAIL("the key " << key << " stays");
}

} // namespace sluice::state::test
