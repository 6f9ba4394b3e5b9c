#include "sys/seal.hpp"

#include "base/text.hpp"
#include "sys/digest.hpp"
#include "sys/random.hpp"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <memory>
#include <stdexcept>

namespace sluice::sys {

namespace {

constexpr std::string_view version = "s1";
constexpr std::size_t nonce_size = 12;
constexpr std::size_t tag_size = 16;
constexpr std::size_t max_plain = 48 * 1024;
// Room for the version, the key id and the dots before what base64url makes of nonce, text and tag.
constexpr std::size_t max_token = 32 + (nonce_size + max_plain + tag_size + 2) / 3 * 4;

constexpr std::array<std::string_view, purposes> names = {
    "cursor", "session", "event", "ask", "peer"
};

unsigned char* bytes_of(std::string& text) {
    return reinterpret_cast<unsigned char*>(text.data());
}
const unsigned char* bytes_of(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}

void must(int done, const char* what) {
    if (done != 1) throw std::runtime_error(std::string("OpenSSL: ") + what);
}

std::string derive(std::string_view salt, std::string info, std::size_t size) {
    std::unique_ptr<EVP_KDF, void (*)(EVP_KDF*)> kdf(
        EVP_KDF_fetch(nullptr, "HKDF", nullptr), EVP_KDF_free
    );
    std::unique_ptr<EVP_KDF_CTX, void (*)(EVP_KDF_CTX*)> context(
        EVP_KDF_CTX_new(kdf.get()), EVP_KDF_CTX_free
    );
    std::string digest = "SHA256";
    std::string key(salt);
    std::array<OSSL_PARAM, 4> params = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, key.data(), key.size()),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info.data(), info.size()),
        OSSL_PARAM_construct_end(),
    };
    std::string out(size, '\0');
    must(EVP_KDF_derive(context.get(), bytes_of(out), out.size(), params.data()), "HKDF");
    return out;
}

using cipher_context = std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)>;

cipher_context new_context() {
    return {EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free};
}

base::fault refused() {
    return {base::errc::invalid_params, "the token is not valid here"};
}

} // namespace

sealer::sealer(const std::vector<base::secret>& salts) {
    for (const auto& salt : salts) {
        if (salt.empty()) continue;
        ring r;
        r.id = base::hex(derive(salt.reveal(), "sluice/key id", 4));
        for (std::size_t i = 0; i < purposes; ++i) {
            r.keys.at(i) =
                base::secret(derive(salt.reveal(), "sluice/" + std::string(names.at(i)), 32));
        }
        rings_.push_back(std::move(r));
    }
}

std::string sealer::seal(purpose what, std::string_view plain) const {
    const auto& r = rings_.front();
    auto index = static_cast<std::size_t>(what);
    auto nonce = random_bytes(nonce_size);
    auto context = new_context();
    std::string out(plain.size() + tag_size, '\0');
    auto head = std::string(version) + "." + std::string(names.at(index));
    int length = 0;
    auto key = r.keys.at(index).reveal();
    must(
        EVP_EncryptInit_ex2(
            context.get(), EVP_aes_256_gcm(), bytes_of(key), bytes_of(nonce), nullptr
        ),
        "init"
    );
    must(
        EVP_EncryptUpdate(
            context.get(),
            nullptr,
            &length,
            bytes_of(std::string_view(head)),
            static_cast<int>(head.size())
        ),
        "aad"
    );
    must(
        EVP_EncryptUpdate(
            context.get(), bytes_of(out), &length, bytes_of(plain), static_cast<int>(plain.size())
        ),
        "update"
    );
    int rest = 0;
    must(EVP_EncryptFinal_ex(context.get(), bytes_of(out) + length, &rest), "final");
    must(
        EVP_CIPHER_CTX_ctrl(
            context.get(), EVP_CTRL_GCM_GET_TAG, tag_size, bytes_of(out) + plain.size()
        ),
        "tag"
    );
    return std::string(version) + "." + r.id + "." + base::base64url(nonce + out);
}

base::result<std::string> sealer::open(purpose what, std::string_view token) const {
    if (token.size() > max_token) return refused();
    auto parts = base::split(token, '.');
    if (parts.size() != 3 || parts[0] != version) return refused();
    const ring* found = nullptr;
    for (const auto& r : rings_) {
        if (r.id == parts[1]) found = &r;
    }
    auto raw = base::from_base64url(parts[2]);
    if (found == nullptr || !raw || raw->size() < nonce_size + tag_size) return refused();
    auto index = static_cast<std::size_t>(what);
    auto sealed = std::string_view(*raw).substr(nonce_size, raw->size() - nonce_size - tag_size);
    auto tag = raw->substr(raw->size() - tag_size);
    auto head = std::string(version) + "." + std::string(names.at(index));
    auto key = found->keys.at(index).reveal();
    auto context = new_context();
    std::string plain(sealed.size(), '\0');
    int length = 0;
    int rest = 0;
    must(
        EVP_DecryptInit_ex2(
            context.get(), EVP_aes_256_gcm(), bytes_of(key), bytes_of(*raw), nullptr
        ),
        "init"
    );
    must(
        EVP_DecryptUpdate(
            context.get(),
            nullptr,
            &length,
            bytes_of(std::string_view(head)),
            static_cast<int>(head.size())
        ),
        "aad"
    );
    must(
        EVP_DecryptUpdate(
            context.get(),
            bytes_of(plain),
            &length,
            bytes_of(sealed),
            static_cast<int>(sealed.size())
        ),
        "update"
    );
    must(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, tag_size, bytes_of(tag)), "tag");
    if (EVP_DecryptFinal_ex(context.get(), bytes_of(plain) + length, &rest) != 1) return refused();
    return plain;
}

std::string sealer::sign(purpose what, std::string_view text) const {
    const auto& r = rings_.front();
    const auto& key = r.keys.at(static_cast<std::size_t>(what));
    return r.id + "." + base::base64url(hmac_sha256(key.reveal(), text));
}

bool sealer::is_signed(purpose what, std::string_view text, std::string_view signature) const {
    auto dot = signature.find('.');
    if (dot == std::string_view::npos) return false;
    auto given = base::from_base64url(signature.substr(dot + 1));
    if (!given) return false;
    for (const auto& r : rings_) {
        if (r.id != signature.substr(0, dot)) continue;
        const auto& key = r.keys.at(static_cast<std::size_t>(what));
        return base::equal_constant_time(hmac_sha256(key.reveal(), text), *given);
    }
    return false;
}

} // namespace sluice::sys
