// A secret text: it cannot be printed, compared by accident or streamed; `reveal()` is the one way out
// and is searched for in review. Wiped when destroyed.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::base {

class secret {
public:
    secret() = default;
    explicit secret(std::string text) : text_(std::move(text)) {}
    secret(const secret&) = default;
    secret(secret&&) = default;
    secret& operator=(const secret&) = default;
    secret& operator=(secret&&) = default;
    ~secret() { ::explicit_bzero(text_.data(), text_.size()); }

    bool empty() const { return text_.empty(); }
    std::string_view reveal() const { return text_; }

private:
    std::string text_;
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

}  // namespace sluice::base
