#include "sys/digest.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <stdexcept>

namespace sluice::sys {

namespace {

const unsigned char* raw(std::string_view bytes) {
    return reinterpret_cast<const unsigned char*>(bytes.data());
}

} // namespace

std::string sha256(std::string_view bytes) {
    std::string out(32, '\0');
    unsigned int length = 0;
    auto* to = reinterpret_cast<unsigned char*>(out.data());
    if (EVP_Digest(bytes.data(), bytes.size(), to, &length, EVP_sha256(), nullptr) != 1 ||
        length != out.size()) {
        throw std::runtime_error("SHA-256 is not available");
    }
    return out;
}

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
    std::string out(32, '\0');
    unsigned int length = 0;
    auto* to = reinterpret_cast<unsigned char*>(out.data());
    // An empty view may hold a null pointer, which HMAC takes for "the key of before".
    const void* key_bytes = key.empty() ? "" : key.data();
    if (HMAC(
            EVP_sha256(),
            key_bytes,
            static_cast<int>(key.size()),
            raw(bytes),
            bytes.size(),
            to,
            &length
        ) == nullptr ||
        length != out.size()) {
        throw std::runtime_error("HMAC-SHA-256 is not available");
    }
    return out;
}

} // namespace sluice::sys
