#include "net/client_link.hpp"

#include "client_bench.hpp"

using namespace sluice;
using namespace sluice::net;
using namespace sluice::net::test;
using namespace std::chrono_literals;

TEST_CASE("a read that its deadline has cut off says so, though the deadline was moved since") {
    bench all;
    all.run([](bench& b) -> aio::task<> {
        http_pool::counters counted;
        client_link link(b.loop, b.deadlines, counted);
        std::weak_ptr<lookup> shared;
        b.crew.spawn(play(b.stage, {}, true));
        auto made = co_await link.connect(b.stage.where(), nullptr, shared, 5s, soon());
        REQUIRE(made);
        auto at = aio::clock::now() + 10ms;
        link.set_deadline(at);
        // Due in the same sweep and after it: before the read has heard that it is cut off.
        auto writer = b.deadlines.arm(at, [&link] { link.set_deadline(soon()); });
        auto count = co_await link.read_more();
        CHECK(count == 0);
        CHECK(writer.fired());
        CHECK(link.why().code == base::errc::timeout);
        // The link is as good as before.
        link.set_deadline(aio::clock::now() + 10ms);
        count = co_await link.read_more();
        CHECK(count == 0);
        CHECK(link.why().code == base::errc::timeout);
        auto cancelling = b.deadlines.arm(aio::clock::now() + 10ms, [&link] { link.cancel(); });
        count = co_await link.read_more();
        CHECK(count == 0);
        CHECK(link.why().code == base::errc::cancelled);
    });
}
