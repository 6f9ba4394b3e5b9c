// SHA-256 and HMAC-SHA-256 over texts, by OpenSSL (fenced to this file, net/tls and sys/seal).
// Raw 32 bytes out; use base::hex for text. Throws only when OpenSSL itself is broken.
#pragma once

#include <string>
#include <string_view>

namespace sluice::sys {

std::string sha256(std::string_view bytes);
std::string hmac_sha256(std::string_view key, std::string_view bytes);

} // namespace sluice::sys
