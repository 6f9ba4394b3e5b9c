// Results too large to be kept for resume.
#include "reading.hpp"
#include "session/stream.hpp"
#include "wire/message.hpp"

using namespace sluice;
using namespace sluice::session;
using namespace sluice::session::test;

namespace {

std::string response(int id, std::size_t size) {
    return wire::make_result(std::to_string(id), "\"" + std::string(size, 'r') + "\"");
}

} // namespace

TEST_CASE(
    "a result above resume_result_max is delivered whole, then a resume finds an error that says so"
) {
    settings bounds;
    bounds.resume_result_max = 100;
    place p{{}, bounds, {}};
    auto s = p.make(1);
    s->push_final(response(7, 200));
    run(p.on, [](stream& from) -> task<> {
        auto whole = co_await read_after(from, 0);
        CHECK(whole == words{"1f:" + response(7, 200), "end"});
        from.attach(0);
        auto got = co_await from.next(aio::clock::now());
        REQUIRE(got);
        auto parsed = wire::parse_message((*got)->bytes);
        REQUIRE(parsed);
        CHECK(parsed->kind == wire::message_kind::error);
        CHECK(parsed->view(parsed->id) == "7");
    }(*s));
    CHECK(s->kept_bytes() < 200);
    CHECK(p.counters.bytes == s->kept_bytes());
}

TEST_CASE("a result within resume_result_max is there for every resume") {
    settings bounds;
    bounds.resume_result_max = 300;
    place p{{}, bounds, {}};
    auto s = p.make(1);
    s->push_final(response(7, 200));
    run(p.on, [](stream& from) -> task<> {
        for (int i = 0; i < 3; ++i) {
            auto whole = co_await read_after(from, 0);
            CHECK(whole == words{"1f:" + response(7, 200), "end"});
        }
    }(*s));
}

TEST_CASE("a large result is not given up while its reader goes back to read it again") {
    settings bounds;
    bounds.resume_result_max = 100;
    place p{{}, bounds, {}};
    auto s = p.make(1);
    s->push_final(response(7, 200));
    run(p.on, [](stream& from) -> task<> {
        from.attach(0);
        auto first = co_await read_now(from);
        from.rewind();
        auto again = co_await read_now(from);
        CHECK(first == again);
        CHECK(again.front() == "1f:" + response(7, 200));
    }(*s));
}
