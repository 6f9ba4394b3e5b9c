// Which of a cluster's 16384 slots a key belongs to. Internal to state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice::state {

inline constexpr std::size_t slot_count = 16384;

// CRC16 of the key, or of what stands in its first braces when that is not empty.
std::uint16_t slot_of(std::string_view key);

} // namespace sluice::state
