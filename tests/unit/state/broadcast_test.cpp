#include "aio/within.hpp"
#include "engines.hpp"
#include "logs.hpp"

using namespace sluice;
using namespace sluice::state;
using namespace sluice::state::test;

namespace {

using words = std::vector<std::string>;

// Publishes until it is heard: a subscription takes effect some time after listen().
task<bool> heard(engine& on, words& ear, std::string channel, std::string word) {
    auto until = aio::test::late();
    while (aio::clock::now() < until) {
        on.get().publish(channel, word);
        for (int turn = 0; turn < 5; ++turn) {
            co_await aio::pause(1ms);
            if (!ear.empty()) co_return true;
        }
    }
    co_return false;
}

} // namespace

TEST_CASE("a word is heard on channels that are listened to, and never inside a call") {
    on_every_engine([](engine& on) -> task<> {
        auto& s = on.get();
        auto ear = std::make_shared<words>();
        s.on_word(
            [ear](std::string_view channel, std::string_view word) {
                ear->push_back(std::string(channel) + "=" + std::string(word));
            },
            [] {}
        );
        s.listen("news");
        bool came = co_await heard(on, *ear, "news", "hello");
        CHECK(came);
        CHECK(ear->front() == "news=hello");
        s.publish("other", "nobody listens");
        s.publish("news", "last");
        CHECK((ear->empty() || ear->back() != "news=last"));
        auto until = aio::test::late();
        while (ear->back() != "news=last" && aio::clock::now() < until)
            co_await aio::pause(1ms);
        CHECK(ear->back() == "news=last");
        CHECK(std::count(ear->begin(), ear->end(), "other=nobody listens") == 0);
    });
}

TEST_CASE("a channel is heard until it was unlistened as often as it was listened to") {
    on_every_engine([](engine& on) -> task<> {
        auto& s = on.get();
        auto ear = std::make_shared<words>();
        s.on_word(
            [ear](std::string_view channel, std::string_view) { ear->emplace_back(channel); }, [] {}
        );
        s.listen("twice");
        s.listen("twice");
        s.listen("sign");
        s.unlisten("twice");
        bool came = co_await heard(on, *ear, "twice", "x");
        CHECK(came);
        s.unlisten("twice");
        // After the sign of a later subscription nothing of the earlier one can come.
        s.listen("end");
        ear->clear();
        auto until = aio::test::late();
        while (std::count(ear->begin(), ear->end(), "end") == 0 && aio::clock::now() < until) {
            s.publish("end", "x");
            co_await aio::pause(1ms);
        }
        ear->clear();
        s.publish("twice", "x");
        came = co_await heard(on, *ear, "sign", "x");
        CHECK(came);
        CHECK(std::count(ear->begin(), ear->end(), "twice") == 0);
    });
}

TEST_CASE("an append tells its channel once the entries stand") {
    on_every_engine([](engine& on) -> task<> {
        auto& s = on.get();
        auto ear = std::make_shared<words>();
        s.on_word(
            [ear](std::string_view, std::string_view word) { ear->emplace_back(word); }, [] {}
        );
        s.listen("news");
        bool ready = co_await heard(on, *ear, "news", "x");
        CHECK(ready);
        auto opened = co_await s.open_log("l", "me", fields(), 60s);
        good(opened);
        auto what = write("l", 1, {"a"});
        what.channel = "news";
        what.word = "l has more";
        auto last = co_await s.append(what);
        good(last);
        what.epoch = 5;
        what.word = "a fenced one tells nothing";
        last = co_await s.append(what);
        CHECK(fault_of(last) == errc::fenced);
        s.publish("news", "end");
        auto until = aio::test::late();
        while (ear->back() != "end" && aio::clock::now() < until)
            co_await aio::pause(1ms);
        CHECK(std::count(ear->begin(), ear->end(), "l has more") == 1);
        CHECK(std::count(ear->begin(), ear->end(), "a fenced one tells nothing") == 0);
    });
}

TEST_CASE("who listens and then reads misses no word of a later change") {
    on_every_engine([](engine& on) -> task<> {
        auto& s = on.get();
        auto ear = std::make_shared<words>();
        s.on_word(
            [ear](std::string_view channel, std::string_view) { ear->emplace_back(channel); }, [] {}
        );
        s.listen("ready");
        bool ready = co_await heard(on, *ear, "ready", "x");
        CHECK(ready);
        for (int i = 0; i < 50; ++i) {
            auto channel = "c" + std::to_string(i);
            s.listen(channel);
            auto got = co_await s.get("k");
            good(got);
            s.publish(channel, "x");
            auto until = aio::test::late();
            while (ear->back() != channel && aio::clock::now() < until)
                co_await aio::pause(1ms);
            REQUIRE(ear->back() == channel);
        }
    });
}
