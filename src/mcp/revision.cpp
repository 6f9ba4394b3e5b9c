#include "mcp/revision.hpp"

namespace sluice::mcp {

namespace {

constexpr std::array<std::string_view, 5> texts = {
    "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"
};

} // namespace

std::string_view text_of(revision r) {
    return texts.at(static_cast<std::size_t>(r));
}

std::optional<revision> parse_revision(std::string_view text) {
    for (std::size_t i = 0; i < texts.size(); ++i) {
        if (texts.at(i) == text) return static_cast<revision>(i);
    }
    return std::nullopt;
}

revision negotiate(std::string_view requested) {
    auto asked = parse_revision(requested);
    if (!asked || *asked > latest_legacy) return latest_legacy;
    return *asked;
}

} // namespace sluice::mcp
