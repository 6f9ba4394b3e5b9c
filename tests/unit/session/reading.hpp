// Reads a stream the way a host's connection does, and writes what came as short words:
// "1n:text" is position 1, a note; p progress, f final, q question, ~ pause.
#pragma once

#include "../aio/run.hpp"
#include "session/stream.hpp"

#include <string>
#include <vector>

namespace sluice::session::test {

using aio::loop;
using aio::task;
using aio::test::run;
using aio::test::settle;
using words = std::vector<std::string>;

inline std::string word_of(const event& e) {
    constexpr std::string_view kinds = "nqpf~";
    return std::to_string(e.position) + kinds[static_cast<std::size_t>(e.kind)] + ":" + e.bytes;
}

// Everything that is there now, from the reader's place on; "end" when the stream is done.
inline task<words> read_now(stream& s) {
    words out;
    for (;;) {
        auto got = co_await s.next(aio::clock::now());
        if (!got) break;
        if (*got == nullptr) {
            out.push_back("end");
            break;
        }
        out.push_back(word_of(**got));
    }
    co_return out;
}

// What a connection that resumes after `position` gets.
inline task<words> read_after(stream& s, std::uint64_t position) {
    REQUIRE(s.attach(position));
    auto out = co_await read_now(s);
    s.detach();
    co_return out;
}

// A stream and all it needs, with bounds that a test may set before it is made.
struct place {
    loop on;
    settings bounds;
    stream_counters counters;

    std::shared_ptr<stream> make(std::size_t finals) {
        return std::make_shared<stream>(on.get_executor(), "1", finals, bounds, counters);
    }
};

} // namespace sluice::session::test
