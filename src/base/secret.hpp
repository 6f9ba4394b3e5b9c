// A secret text: it cannot be printed, compared by accident or streamed; `reveal()` is the one way
// out and is searched for in review. Wiped when destroyed, replaced or moved away.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::base {

class secret {
public:
    secret() = default;
    explicit secret(std::string text) : bytes_(text.begin(), text.end()) {
        ::explicit_bzero(text.data(), text.size());
    }
    secret(const secret&) = default;
    secret(secret&&) noexcept = default;
    // By value: what was held before leaves with the parameter, which wipes it.
    secret& operator=(secret other) noexcept {
        bytes_.swap(other.bytes_);
        return *this;
    }
    ~secret() {
        if (!bytes_.empty()) ::explicit_bzero(bytes_.data(), bytes_.size());
    }

    bool empty() const { return bytes_.empty(); }
    std::string_view reveal() const { return {bytes_.data(), bytes_.size()}; }

private:
    // Never a string: a short one lies in the object, and moving it leaves a copy behind.
    std::vector<char> bytes_;
};

// Time depends on the lengths only.
inline bool equal_constant_time(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    unsigned char difference = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        difference = static_cast<unsigned char>(
            difference | (static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]))
        );
    }
    return difference == 0;
}

} // namespace sluice::base
