#include "../session/reading.hpp"
#include "aio/within.hpp"
#include "gateway/changes.hpp"
#include "state/memory_store.hpp"

using namespace sluice;
using namespace std::chrono_literals;
using aio::task;
using aio::test::settle;

namespace {

const std::string tools = "notifications/tools/list_changed";

// Sees at once what stands there, and may tell it later.
class slow_store final : public state::memory_store {
public:
    explicit slow_store(aio::loop& on) : memory_store(on, {}, true), told_(on.get_executor()) {}

    void hold() { held_ = true; }
    void answer() {
        held_ = false;
        told_.wake();
    }
    int looks() const { return looks_; }

    task<base::result<std::optional<std::string>>>
    put_new(std::string key, std::string value, state::milliseconds ttl) override {
        auto seen = co_await memory_store::put_new(std::move(key), std::move(value), ttl);
        ++looks_;
        while (held_)
            co_await told_.wait(aio::test::late());
        co_return seen;
    }

private:
    bool held_ = false;
    aio::signal_flag told_;
    int looks_ = 0;
};

// A session of several replicas as one of them hears its changes; what it tells is read here.
struct ear {
    ear() {
        identity.key = "k";
        identity.one_stream = true; // told on a stream that is no log in the store
        host = std::make_shared<session::session>(on.get_executor(), identity, bounds, counters);
        host->be_kept(kept);
        host->standing().attach(0);
        told = std::make_unique<gateway::changes>(*host, chores);
    }

    void run(std::function<task<>(ear&)> body) {
        auto whole = [](ear& e, std::function<task<>(ear&)> inner) -> task<> {
            co_await inner(e);
            e.chores.stop();
            co_await e.chores.join();
        };
        aio::test::run(on, whole(*this, std::move(body)));
    }
    // Another replica has told one, which stands for the last.
    task<> another_tells(std::string word) {
        auto put = co_await store.put(last, std::move(word), 1min);
        REQUIRE(put);
    }
    task<> its_second_is_over() {
        auto erased = co_await store.erase(last);
        REQUIRE(erased);
    }
    task<> looked(int times) const {
        auto until = aio::test::late();
        while (store.looks() < times && aio::clock::now() < until)
            co_await aio::pause(1ms);
        REQUIRE(store.looks() >= times);
        co_await settle();
    }
    // What is told next; empty when nothing is.
    task<std::string> next() {
        auto got = co_await host->standing().next(aio::clock::now() + 5s);
        co_return got ? (*got)->bytes : std::string();
    }

    aio::loop on;
    slow_store store{on};
    session::settings bounds;
    session::stream_counters counters;
    sys::sealer seals{{base::secret("a salt of at least thirty-two bytes, really")}};
    session::records kept{store, seals, bounds, [] { return std::string("here"); }};
    session::identity identity;
    std::string last = session::records::quiet_key("k", tools);
    std::shared_ptr<session::session> host;
    aio::nursery chores{on.get_executor(), "test"};
    std::unique_ptr<gateway::changes> told;
};

} // namespace

TEST_CASE("a list_changed that comes while the store is slow to say who told one before is told") {
    ear one;
    one.run([](ear& e) -> task<> {
        co_await e.another_tells("first");
        e.store.hold();
        e.told->tell(tools, "older");
        co_await e.looked(1); // and saw the first
        co_await e.another_tells("second");
        e.told->tell(tools, "newest");
        e.store.answer();
        // The second was told before the newest came: it does not stand for that.
        co_await e.looked(2);
        co_await e.its_second_is_over();
        auto note = co_await e.next();
        CHECK(note == "newest");
    });
}

TEST_CASE("a list_changed is not told when another replica has told one since it came") {
    ear one;
    one.run([](ear& e) -> task<> {
        co_await e.another_tells("first");
        e.told->tell(tools, "older");
        co_await e.looked(1);
        int looks = e.store.looks();
        co_await e.another_tells("second");
        co_await e.looked(looks + 1);
        co_await e.its_second_is_over();
        co_await e.chores.join(); // nothing of the older is left to be told
        e.told->tell(tools, "newest");
        auto note = co_await e.next();
        CHECK(note == "newest");
    });
}
