// The RESP reader: any split of the bytes gives the same replies and the same verdict, and words
// made a command are read as those words. The first byte chooses the splits.
#include "check.hpp"
#include "wire/resp.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

using namespace sluice::wire;

namespace {

struct outcome {
    std::vector<resp_reply> replies;
    bool refused = false;
    bool operator==(const outcome&) const = default;
};

outcome read_split(std::string_view bytes, std::uint32_t seed) {
    resp_reader reader({1U << 20U, 1U << 10U});
    outcome out;
    while (!bytes.empty() && !out.refused) {
        seed = seed * 1664525U + 1013904223U;
        auto size = std::min<std::size_t>(bytes.size(), 1 + (seed >> 24U) % 7);
        reader.feed(bytes.substr(0, size));
        bytes.remove_prefix(size);
        for (bool more = true; more;) {
            auto got = reader.next();
            out.refused = !got.ok();
            more = got.ok() && *got;
            if (more) out.replies.push_back(std::move(**got));
        }
    }
    return out;
}

outcome read_whole(std::string_view bytes) {
    resp_reader reader({1U << 20U, 1U << 10U});
    reader.feed(bytes);
    outcome out;
    for (;;) {
        auto got = reader.next();
        out.refused = !got.ok();
        if (!got.ok() || !*got) return out;
        out.replies.push_back(std::move(**got));
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    CHECK(read_whole(text) == read_split(text, data[0]));

    std::vector<std::string_view> words;
    for (auto rest = text; words.size() < 20;) {
        auto cut = rest.find('\n');
        words.push_back(rest.substr(0, cut));
        if (cut == std::string_view::npos) break;
        rest.remove_prefix(cut + 1);
    }
    auto again = read_whole(resp_command(words));
    CHECK(!again.refused);
    CHECK(again.replies.size() == 1);
    CHECK(again.replies[0].items.size() == words.size());
    for (std::size_t i = 0; i < words.size(); ++i)
        CHECK(again.replies[0].items[i].text == words[i]);
    return 0;
}
