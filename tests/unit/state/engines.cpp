#include "engines.hpp"

#include "aio/within.hpp"

namespace sluice::state::test {

namespace {

class memory_engine final : public engine {
public:
    store& get() override { return *store_; }
    task<> step() override {
        clock_.advance(5);
        co_return;
    }

private:
    sys::hand_wound_clock clock_{1'700'000'000'000};
    std::unique_ptr<store> store_ = make_memory_store(loop);
};

} // namespace

void on_every_engine(body each) {
    SUBCASE("memory") {
        memory_engine on;
        aio::test::run(on.loop, each(on));
    }
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
