// A JSON number as an exact decimal: compared and divided without a double, so that 2^53 + 1 and
// 0.1 are what their texts say. Used where numbers decide something (output schemas).
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::wire {

struct decimal {
    bool negative = false;
    std::string digits;     // no zero at either end; empty = zero
    std::int64_t scale = 0; // value = 0.digits * 10^scale

    // The text of a JSON number. Exponents beyond ten digits are taken as that large.
    static decimal of(std::string_view number_text);

    bool is_zero() const { return digits.empty(); }
    bool is_integer() const {
        return is_zero() || scale >= static_cast<std::int64_t>(digits.size());
    }
    // One text for each value: 1, 1.0 and 10e-1 have the same.
    std::string text() const;

    bool operator==(const decimal&) const = default;
    std::strong_ordering operator<=>(const decimal& other) const;

    // Nothing when `of` is zero, negative or has more than nine digits.
    std::optional<bool> is_multiple(const decimal& of) const;
};

} // namespace sluice::wire
