#include "wire/decimal.hpp"

#include <algorithm>

namespace sluice::wire {

namespace {

constexpr std::int64_t farthest = 10'000'000'000; // of an exponent; keeps sums far from overflow

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

std::int64_t exponent_of(std::string_view text) {
    bool negative = !text.empty() && text.front() == '-';
    std::int64_t value = 0;
    for (char c : text) {
        if (is_digit(c)) value = std::min(value * 10 + (c - '0'), farthest);
    }
    return negative ? -value : value;
}

std::uint64_t power_of_ten(std::int64_t exponent, std::uint64_t modulus) {
    std::uint64_t base = 10 % modulus;
    std::uint64_t out = 1 % modulus;
    for (auto left = static_cast<std::uint64_t>(exponent); left > 0; left /= 2) {
        if (left % 2 == 1) out = out * base % modulus;
        base = base * base % modulus;
    }
    return out;
}

} // namespace

decimal decimal::of(std::string_view text) {
    decimal out;
    out.negative = !text.empty() && text.front() == '-';
    auto e = text.find_first_of("eE");
    auto mantissa = text.substr(0, e);
    bool after_point = false;
    std::int64_t whole = 0;
    for (char c : mantissa) {
        if (c == '.') after_point = true;
        if (!is_digit(c)) continue;
        out.digits.push_back(c);
        if (!after_point) ++whole;
    }
    out.scale = whole + (e == std::string_view::npos ? 0 : exponent_of(text.substr(e + 1)));
    auto first = out.digits.find_first_not_of('0');
    if (first == std::string::npos) return {};
    out.digits.erase(0, first);
    out.scale -= static_cast<std::int64_t>(first);
    out.digits.erase(out.digits.find_last_not_of('0') + 1);
    return out;
}

std::string decimal::text() const {
    if (is_zero()) return "0";
    return (negative ? "-0." : "0.") + digits + "e" + std::to_string(scale);
}

std::strong_ordering decimal::operator<=>(const decimal& other) const {
    if (is_zero() || other.is_zero() || negative != other.negative) {
        auto sign = [](const decimal& d) { return d.is_zero() ? 0 : d.negative ? -1 : 1; };
        return sign(*this) <=> sign(other);
    }
    auto larger = scale != other.scale ? scale <=> other.scale : digits.compare(other.digits) <=> 0;
    return negative ? 0 <=> larger : larger;
}

std::optional<bool> decimal::is_multiple(const decimal& of) const {
    constexpr std::size_t most_digits = 9; // products of remainders stay below 2^64
    if (of.is_zero() || of.negative || of.digits.size() > most_digits) return std::nullopt;
    if (is_zero()) return true;
    auto size = [](const decimal& d) { return static_cast<std::int64_t>(d.digits.size()); };
    auto tens = (scale - size(*this)) - (of.scale - size(of));
    if (tens < 0) return false; // the last digit is no zero
    std::uint64_t modulus = 0;
    for (char c : of.digits)
        modulus = modulus * 10 + static_cast<std::uint64_t>(c - '0');
    std::uint64_t rest = 0;
    for (char c : digits)
        rest = (rest * 10 + static_cast<std::uint64_t>(c - '0')) % modulus;
    return rest * power_of_ten(tens, modulus) % modulus == 0;
}

} // namespace sluice::wire
