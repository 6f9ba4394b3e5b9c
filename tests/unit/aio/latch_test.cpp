#include "aio/latch.hpp"
#include "run.hpp"

using namespace sluice::aio;
using namespace sluice::aio::test;

namespace {

task<> pass(latch& gate, std::shared_ptr<int> through) {
    co_await keep_running_when_cancelled();
    co_await gate.wait();
    ++*through;
}

} // namespace

TEST_CASE("a latch lets everyone through who waits now, and nobody who comes later") {
    loop on;
    run(on, [](executor ex) -> task<> {
        latch gate(ex);
        auto through = std::make_shared<int>(0);
        nursery crew(ex, "test");
        for (int i = 0; i < 4; ++i) {
            auto job = pass(gate, through);
            crew.spawn(std::move(job));
        }
        co_await settle();
        CHECK(*through == 0);
        gate.wake_all();
        co_await settle();
        CHECK(*through == 4);
        auto late_comer = pass(gate, through);
        crew.spawn(std::move(late_comer));
        co_await settle();
        CHECK(*through == 4);
        crew.stop(); // cancelling a waiter lets it go
        co_await crew.join();
        CHECK(*through == 5);
    }(on.get_executor()));
}
