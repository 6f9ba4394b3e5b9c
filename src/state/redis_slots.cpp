#include "state/redis_slots.hpp"

namespace sluice::state {

namespace {

// CRC-16/XMODEM, as the cluster specification has it.
std::uint16_t crc16(std::string_view bytes) {
    unsigned crc = 0;
    for (unsigned char byte : bytes) {
        crc ^= static_cast<unsigned>(byte) << 8U;
        for (int bit = 0; bit < 8; ++bit)
            crc = (crc & 0x8000U) != 0 ? (crc << 1U) ^ 0x1021U : crc << 1U;
        crc &= 0xffffU;
    }
    return static_cast<std::uint16_t>(crc);
}

} // namespace

std::uint16_t slot_of(std::string_view key) {
    auto open = key.find('{');
    if (open != std::string_view::npos) {
        auto close = key.find('}', open + 1);
        if (close != std::string_view::npos && close > open + 1)
            key = key.substr(open + 1, close - open - 1);
    }
    return static_cast<std::uint16_t>(crc16(key) % slot_count);
}

} // namespace sluice::state
