// A JSON-RPC id or progress token: string or integer kept apart, its exact JSON text kept.
// 0, "" and negative numbers are as real as any other. Key of the id and token maps of each hop.
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace sluice::wire {

class token {
public:
    token() = default; // not a value that occurs on the wire; empty() is true

    // A validated JSON value. Fraction, exponent or another type: errc::invalid_params.
    static base::result<token> parse(std::string_view json_text);
    static token of(std::uint64_t number);
    static token of(std::string_view utf8);

    bool empty() const { return text_.empty(); }
    bool is_string() const { return !text_.empty() && text_.front() == '"'; }
    const std::string& text() const { return text_; } // exact JSON text, for splicing
    // Strings: the decoded characters; numbers: their text.
    std::string_view value() const;

    // Strings by decoded value ("a" == "\u0061"), numbers by exact text; "1" is not 1.
    friend bool operator==(const token& a, const token& b) {
        return a.is_string() == b.is_string() && a.value() == b.value();
    }
    std::size_t hash() const;

private:
    std::string text_;
    std::string decoded_; // only when the text has escapes
    bool escaped_ = false;
};

} // namespace sluice::wire

template <>
struct std::hash<sluice::wire::token> {
    std::size_t operator()(const sluice::wire::token& t) const noexcept { return t.hash(); }
};
