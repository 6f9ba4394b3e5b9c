// Short hands for writing and showing logs.
#pragma once

#include "aio/nursery.hpp"
#include "state/store.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace sluice::state::test {

inline log_append write(std::string key, std::uint64_t epoch, std::vector<std::string> notes) {
    log_append what;
    what.key = std::move(key);
    what.epoch = epoch;
    for (auto& note : notes)
        what.entries.push_back({0, 'n', std::move(note)});
    return what;
}

inline log_append note(std::string key, std::uint64_t epoch, std::string text) {
    return write(std::move(key), epoch, {std::move(text)});
}

// To be launched: what came of it is added to `ends`, errc of the fault or nothing.
inline aio::task<> append_beside(
    store& s, log_append what, std::shared_ptr<std::vector<std::optional<base::errc>>> ends
) {
    co_await aio::keep_running_when_cancelled();
    auto last = co_await s.append(std::move(what));
    ends->push_back(last ? std::nullopt : std::optional(last.error().code));
}

// "1n:first 2f:second"
inline std::string shown(const std::optional<log_page>& page) {
    if (!page) return "no log";
    std::string text;
    for (const auto& entry : page->entries) {
        text += text.empty() ? "" : " ";
        text += std::to_string(entry.position) + entry.kind + ":" + entry.bytes;
    }
    return text;
}

} // namespace sluice::state::test
