// Unpredictable bytes and ids from the kernel. Used for session ids, salts, event handles, jitter.
// Throws std::system_error only when the kernel has no randomness to give.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace sluice::sys {

std::string random_bytes(std::size_t count);
// 128 bits by default, as base64url without padding: visible ASCII, safe in headers and paths.
std::string random_id(std::size_t bytes = 16);
std::uint64_t random_u64();

} // namespace sluice::sys
