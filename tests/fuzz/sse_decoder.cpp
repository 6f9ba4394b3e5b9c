// The SSE decoder: any split of the bytes and any kind of line end give the same events, and what
// is encoded again decodes to the same. The first two bytes choose the splits and the limit.
#include "check.hpp"
#include "wire/sse.hpp"

#include <algorithm>
#include <string>
#include <vector>

using namespace sluice::wire;

namespace {

struct outcome {
    std::vector<sse_event> events;
    bool too_big = false;
    bool operator==(const outcome&) const = default;
};

void drain(sse_decoder& decoder, outcome& out) {
    while (auto event = decoder.next())
        out.events.push_back(*std::move(event));
    out.too_big = decoder.too_big();
}

outcome decode_split(std::string_view text, std::size_t limit, std::uint32_t seed) {
    sse_decoder decoder(limit);
    outcome out;
    while (!text.empty()) {
        seed = seed * 1664525U + 1013904223U;
        const std::size_t size = std::min<std::size_t>(text.size(), (seed >> 24U) % 7);
        decoder.feed(text.substr(0, size));
        text.remove_prefix(size);
        drain(decoder, out);
    }
    return out;
}

outcome decode(std::string_view text, std::size_t limit) {
    sse_decoder decoder(limit);
    outcome out;
    decoder.feed(text);
    drain(decoder, out);
    return out;
}

std::string with_line_feeds(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
        out += text[i] == '\r' ? '\n' : text[i];
    }
    return out;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    const std::string text(reinterpret_cast<const char*>(data + 2), size - 2);
    const std::size_t limit = data[1] % 2 == 0 ? 64 : 1'000'000;
    const outcome whole = decode(text, limit);
    CHECK(decode_split(text, limit, data[0]) == whole);
    CHECK(decode(with_line_feeds(text), limit) == whole);

    std::string again;
    for (const sse_event& event : whole.events) {
        CHECK(event.data.size() + event.id.size() + event.event.size() <= limit);
        again += encode(event);
        again += comment(event.data);
    }
    const outcome back = decode(again, again.size());
    CHECK(!back.too_big);
    CHECK(back.events.size() == whole.events.size());
    for (std::size_t i = 0; i < back.events.size(); ++i) {
        sse_event want = whole.events[i];
        // NUL has no place in a field of ours; the encoder leaves it out.
        std::erase(want.event, '\0');
        CHECK(back.events[i] == want);
    }
    return 0;
}
