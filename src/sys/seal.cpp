#include "sys/seal.hpp"

#include "base/text.hpp"
#include "sys/digest.hpp"
#include "sys/random.hpp"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <array>
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

// AES-256-GCM of one text, one way. The head is bound to the text and no part of it.
class gcm {
public:
    enum class way : unsigned char { opens, seals };

    gcm(way to, std::string_view key, std::string_view nonce, std::string_view head)
        : context_(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free) {
        must(
            EVP_CipherInit_ex2(
                context_.get(),
                EVP_aes_256_gcm(),
                bytes_of(key),
                bytes_of(nonce),
                to == way::seals ? 1 : 0,
                nullptr
            ),
            "init"
        );
        update(nullptr, head);
    }

    std::string pass(std::string_view text) {
        std::string out(text.size(), '\0');
        update(bytes_of(out), text);
        return out;
    }

    // Of what was sealed.
    std::string tag() {
        must(end(), "final");
        std::string out(tag_size, '\0');
        must(
            EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_GCM_GET_TAG, tag_size, bytes_of(out)),
            "tag"
        );
        return out;
    }

    // Whether what was opened is what was sealed with that tag. Only then is it to be used.
    bool is_genuine(std::string tag) {
        must(
            EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_GCM_SET_TAG, tag_size, bytes_of(tag)),
            "tag"
        );
        return end() == 1;
    }

private:
    void update(unsigned char* to, std::string_view from) {
        int length = 0;
        auto size = static_cast<int>(from.size());
        must(EVP_CipherUpdate(context_.get(), to, &length, bytes_of(from), size), "update");
    }

    int end() {
        std::array<unsigned char, EVP_MAX_BLOCK_LENGTH> none; // nothing is padded
        int length = 0;
        return EVP_CipherFinal_ex(context_.get(), none.data(), &length);
    }

    std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)> context_;
};

std::string head_for(purpose what) {
    return std::string(version) + "." + std::string(names.at(static_cast<std::size_t>(what)));
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
    auto nonce = random_bytes(nonce_size);
    const auto& key = r.keys.at(static_cast<std::size_t>(what));
    gcm cipher(gcm::way::seals, key.reveal(), nonce, head_for(what));
    auto sealed = cipher.pass(plain);
    return std::string(version) + "." + r.id + "." + base::base64url(nonce + sealed + cipher.tag());
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
    auto sealed = std::string_view(*raw).substr(nonce_size, raw->size() - nonce_size - tag_size);
    const auto& key = found->keys.at(static_cast<std::size_t>(what));
    gcm cipher(gcm::way::opens, key.reveal(), *raw, head_for(what));
    auto plain = cipher.pass(sealed);
    if (!cipher.is_genuine(raw->substr(raw->size() - tag_size))) return refused();
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
