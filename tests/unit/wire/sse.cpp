#include "wire/sse.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

using namespace sluice::wire;

namespace {

std::vector<sse_event> drain(sse_decoder& decoder) {
    std::vector<sse_event> out;
    while (auto event = decoder.next())
        out.push_back(*std::move(event));
    return out;
}

std::vector<sse_event> decode(std::string_view bytes) {
    sse_decoder decoder(10'000);
    decoder.feed(bytes);
    return drain(decoder);
}

std::vector<sse_event> decode_parts(const std::vector<std::string>& parts) {
    sse_decoder decoder(10'000);
    std::vector<sse_event> out;
    for (const auto& part : parts) {
        decoder.feed(part);
        for (auto& event : drain(decoder))
            out.push_back(std::move(event));
    }
    return out;
}

sse_event with_data(std::string data) {
    return {.data = std::move(data)};
}

} // namespace

TEST_CASE("fields of an event are read as WHATWG says") {
    const auto events = decode("event: message\nid: 7\nretry: 100\ndata: a\ndata:b\ndata:  c\n\n");
    REQUIRE(events.size() == 1);
    CHECK(events[0] == sse_event{"7", "message", "a\nb\n c", true, 100});
}

TEST_CASE("LF, CR and CRLF all end a line") {
    const std::vector<sse_event> expected{with_data("1"), with_data("2")};
    CHECK(decode("data: 1\n\ndata: 2\n\n") == expected);
    CHECK(decode("data: 1\r\rdata: 2\r\r") == expected);
    CHECK(decode("data: 1\r\n\r\ndata: 2\r\n\r\n") == expected);
    CHECK(decode("data: 1\r\n\ndata: 2\n\r") == expected);
}

TEST_CASE("one byte order mark at the start is dropped") {
    CHECK(
        decode("\xEF\xBB\xBF"
               "data: 1\n\n") == std::vector{with_data("1")}
    );
    CHECK(decode("\xEF\xBB\xBF\xEF\xBB\xBF"
                 "data: 1\n\n")
              .empty());
    CHECK(
        decode("data: 1\n\n\xEF\xBB\xBF"
               "data: 2\n\n")
            .size() == 1
    );
    CHECK(decode_parts({"\xEF", "\xBB", "\xBF", "data: 1\n\n"}) == std::vector{with_data("1")});
    CHECK(decode_parts({"\xEF", "x: 1\n", "data: 1\n\n"}) == std::vector{with_data("1")});
}

TEST_CASE("comments, unknown fields and a bare event name give no event") {
    CHECK(decode(": ping\n\nfoo: bar\n\nevent: x\n\n\n\n").empty());
    CHECK(decode(":\ndata: 1\n: between\ndata: 2\n\n") == std::vector{with_data("1\n2")});
}

TEST_CASE("an event name does not leak into the next event") {
    const auto events = decode("event: x\n\ndata: 1\n\n");
    REQUIRE(events.size() == 1);
    CHECK(events[0].event.empty());
}

TEST_CASE("a priming event, id and retry with empty data, is reported") {
    const auto events = decode("id: p\nretry: 3000\ndata: \n\nid:\n\nretry: 5\n\ndata\n\n");
    REQUIRE(events.size() == 4);
    CHECK(events[0] == sse_event{"p", "", "", true, 3000});
    CHECK(events[1] == sse_event{"", "", "", true, {}});
    CHECK(events[2] == sse_event{"", "", "", false, 5});
    CHECK(events[3] == with_data(""));
}

TEST_CASE("an id with NUL and a retry that is no number are ignored") {
    const std::string nul(1, '\0');
    const auto events = decode("id: a" + nul + "b\nretry: 1x\nretry:\nretry: -1\ndata: 1\n\n");
    REQUIRE(events.size() == 1);
    CHECK_FALSE(events[0].has_id);
    CHECK_FALSE(events[0].retry_ms.has_value());
}

TEST_CASE("a retry beyond 32 bits is as long as can be") {
    CHECK(decode("retry: 99999999999999999999999999\n\n").at(0).retry_ms == 4294967295U);
}

TEST_CASE("an event cut off by the end of input is not reported") {
    CHECK(decode("data: 1\n\ndata: 2\n") == std::vector{with_data("1")});
    CHECK(decode("data: 1").empty());
}

TEST_CASE("any split of the bytes gives the same events") {
    const std::string whole = "\xEF\xBB\xBF: hi\r\nid: 1\r\ndata: a\rdata: b\n\r\n"
                              "\r\nevent: e\rretry: 7\r\rdata: é\n\ndata: tail\r\n\r\n";
    const auto expected = decode(whole);
    REQUIRE(expected.size() == 4);
    for (std::size_t i = 0; i <= whole.size(); ++i)
        for (std::size_t j = i; j <= whole.size(); ++j)
            REQUIRE(
                decode_parts({whole.substr(0, i), whole.substr(i, j - i), whole.substr(j)}) ==
                expected
            );
    std::vector<std::string> bytes;
    for (char c : whole)
        bytes.emplace_back(1, c);
    CHECK(decode_parts(bytes) == expected);
}

TEST_CASE("what is encoded decodes to itself under any split") {
    std::mt19937 random(11);
    const auto pick = [&](std::initializer_list<const char*> from) {
        return std::string(*(from.begin() + random() % from.size()));
    };
    for (int round = 0; round < 500; ++round) {
        std::vector<sse_event> events;
        std::string text;
        for (auto n = random() % 5; n > 0; --n) {
            sse_event e;
            e.has_id = random() % 2 == 0;
            if (e.has_id) e.id = pick({"", "1", "a:b", " lead"});
            e.event = pick({"", "message", "endpoint"});
            e.data = pick({"", "{}", " x", ":", "a\nb", "\n", "é\n\n"});
            if (random() % 3 == 0) e.retry_ms = random() % 5000;
            text += encode(e);
            if (random() % 3 == 0) text += comment(pick({"", "ping", "a\nb"}));
            events.push_back(std::move(e));
        }
        std::vector<std::string> parts;
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t size = 1 + random() % 9;
            parts.push_back(text.substr(at, size));
            at += size;
        }
        CAPTURE(text);
        REQUIRE(decode_parts(parts) == events);
    }
}

TEST_CASE("encoded fields cannot break out of their line") {
    const sse_event e{.id = "1\ndata: evil", .event = "x\r\ny", .data = "d", .has_id = true};
    const auto events = decode(encode(e));
    REQUIRE(events.size() == 1);
    CHECK(events[0].id == "1data: evil");
    CHECK(events[0].event == "xy");
    CHECK(events[0].data == "d");
    CHECK(decode(comment("x\n\ndata: evil\n")).empty());
}

TEST_CASE("a priming event is encoded with an empty data line") {
    CHECK(encode({.id = "p", .has_id = true, .retry_ms = 1}) == "id: p\nretry: 1\ndata: \n\n");
    CHECK(encode({.retry_ms = 1}) == "retry: 1\n\n");
    CHECK(comment("ping") == ": ping\n\n");
}

TEST_CASE("a line or event over the limit ends the stream") {
    sse_decoder line(20);
    line.feed("data: 1\n\ndata: 90123456789012345678");
    CHECK(drain(line) == std::vector{with_data("1")});
    CHECK(line.too_big());
    line.feed("\n\ndata: 2\n\n");
    CHECK(drain(line).empty());

    sse_decoder event(20);
    for (int i = 0; i < 5; ++i)
        event.feed("data: 345\n");
    event.feed("\n");
    CHECK(drain(event) == std::vector{with_data("345\n345\n345\n345\n345")});
    event.feed("data: 34567\ndata: 34567\ndata: 34567\ndata: 34567\n\n");
    CHECK(drain(event).empty());
    CHECK(event.too_big());
}

TEST_CASE("what is held is counted, and a large event leaves nothing behind") {
    sse_decoder decoder(300'000);
    decoder.feed("data: " + std::string(100'000, 'x') + "\ndata: ");
    CHECK(drain(decoder).empty());
    CHECK(decoder.held() >= 100'000);
    decoder.feed("y\n\ndata: z");
    CHECK(drain(decoder) == std::vector{with_data(std::string(100'000, 'x') + "\ny")});
    CHECK(decoder.held() == 7);
    decoder.feed("\n\n");
    CHECK(drain(decoder) == std::vector{with_data("z")});
    CHECK(decoder.held() == 0);
}
