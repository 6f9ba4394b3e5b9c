// The published protocol revisions and what differs between them for a gateway.
// R1 2024-11-05 … R4 2025-11-25 open with `initialize` ("legacy"); R5 2026-07-28 carries its
// version in every request ("modern"). Spec: Lifecycle, version negotiation.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice::mcp {

enum class revision : std::uint8_t { r1, r2, r3, r4, r5 };

std::string_view text_of(revision r);
std::optional<revision> parse_revision(std::string_view text);

inline constexpr revision latest_legacy = revision::r4;
// What a request without a version header counts as when nothing else is known (spec R3,
// transports).
inline constexpr revision assumed_without_header = revision::r2;

// `initialize` answers only legacy revisions: the one asked for when it is one, else the latest.
revision negotiate(std::string_view requested);

// JSON-RPC batches exist only at R2.
constexpr bool allows_batch(revision r) {
    return r == revision::r2;
}
// Priming events and `retry` confuse older hosts (an event without data).
constexpr bool allows_priming(revision r) {
    return r == revision::r4;
}

} // namespace sluice::mcp
